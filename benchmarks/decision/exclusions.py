"""Tables that the corpus leaves out: well-known ones that others judge with, simulated ones, lists of places."""

import re

import pandas as pd

SIMILAR_COLUMNS = 0.5  # Jaccard index of column names with an excluded table above which a table is left out

# Patterns of words in names.
_EVERYDAY = """
titanic penguins? mpg autompg auto2? mtcars2? gtcars cars9?3?s? carsales? auto-mpg diamonds? gapminder gm planets?
tips iris flights? nycflights nycflights13 airports? airlines? planes zip zips zipcodes? movies? films? imdb bechdel
biopics? congress nba nbasal nbaplayers basketball raptor weather lincoln cit(y|ies) towny countr(y|ies) countrypops
worldbank wbd un unmemberstates nations fivethirtyeight storms? starwars txhousing economics msleep sleep houses?
housing homes houseprices? boston ames saratoga sacramento california hprice[123]? housingprices taxis? healthexp wine
breast biopsy adult census census2000 german credit creditcard creditcards credits bikes? bikeshare bikesharing heart
heartdisease hearts stanford_heart cleveland barley birdstrikes sp500 seattle disasters driving unemployment09 obesity
earthquakes? quakes github jobs monarchs football volcano anscombe attention exercise dots fmri dowjones geyser
faithfuld? glue seaice polls college majors recentgrads grads? drinks presidential hospital flight beers? rayyan ai4i
pima thyroid ionosphere spam spambase bank arrhythmia weatherhistory rainfall president peng movielens gibraltar trump
trumpapproval ahcavote2017 ukhouseofcommons births population routes
"""
# Made up, although neither name nor title says so.
_MADE_UP = {
    "carseats", "default", "regression", "boundsdata", "ceddata", "samplonomy", "exampvillehouseholds",
    "exampvillepersons", "exampvilletours", "itinerarydata", "exampvilledemographics", "exampvilleemployment",
    "artificiallong", "publication",
}  # fmt: skip
_WORDS = re.compile("|".join(f"(?:{word})" for word in _EVERYDAY.split()))
_SIMULATED = re.compile(
    r"simul|fictiti|fake|artificial|synthetic|hypothetical|\bsim\b|sim_|_sim|toy|random_|madeup|made-up|demo_data", re.I
)

# Publishers of several tables of the shared data directory: their tables share a family.
PUBLISHERS = {
    "connecticut_roads": r"access_control|roadway_|state_route_local_names|legislative_bridge_names",
    "louisville": r"louisville_metro",
    "state_indicators": r"attain_|illicit_drug|naep4|median_earnings|userssharedsdf",
    "nitrate_violations": r"no3_violations",
    "california_covid": r"covid19postvax|covid_19_race|la_county_covid",
    "worlddb": r"worlddbtables",
}

# Column names of well-known tables and of the shared data directory's own (some under other names there).
_REFERENCE = """
survived pclass sex age sibsp parch fare embarked class who adultmale deck embarktown alive alone
species island billlengthmm billdepthmm flipperlengthmm bodymassg sex
mpg cylinders displacement horsepower weight acceleration modelyear origin name
carat cut color clarity depth table price x y z
country continent year lifeexp pop gdppercap
method number orbitalperiod mass distance year
totalbill tip sex smoker day time size
sepallength sepalwidth petallength petalwidth species
year month day deptime depdelay arrtime arrdelay carrier tailnum flight origin dest airtime distance hour minute
iata name city state country latitude longitude
zipcode latitude longitude city state county
title rating votes year genre budget gross runtime director imdb
fixedacidity volatileacidity citricacid residualsugar chlorides freesulfurdioxide totalsulfurdioxide density ph
age workclass fnlwgt education educationnum maritalstatus occupation relationship race sex capitalgain capitalloss
instant dteday season yr mnth hr holiday weekday workingday weathersit temp atemp hum windspeed casual registered cnt
age sex cp trestbps chol fbs restecg thalach exang oldpeak slope ca thal target
brewerid abv ibu id beername style ounces city state
crim zn indus chas nox rm age dis rad tax ptratio black lstat medv
longitude latitude housingmedianage totalrooms totalbedrooms population households medianincome medianhousevalue
name year month day hour lat long status category wind pressure
city year month sales volume median listings inventory date
date pce pop psavert uempmed unemploy
date precipitation tempmax tempmin wind weather
symbol date price
"""


def reference_columns() -> list[frozenset[str]]:
    """Column names, in small letters and digits, of tables that are left out whatever their name."""
    return [frozenset(line.split()) for line in _REFERENCE.strip().splitlines()]


def by_name(name: str) -> bool:
    """Whether a table's name, without its package, says that it is one of the well-known ones."""
    stem = name.split("/")[-1]
    words = [word.lower() for word in re.split(r"[^A-Za-z0-9]+|(?<=[a-z])(?=[A-Z])", stem) if word]
    whole = re.sub(r"[^a-z0-9]", "", stem.lower())
    return any(_WORDS.fullmatch(word) for word in [*words, whole])


def is_simulated(name: str, title: str) -> bool:
    """Whether name or title says that the data are made up."""
    stem = re.sub(r"[^a-z0-9]", "", name.split("/")[-1].lower())
    return stem in _MADE_UP or bool(_SIMULATED.search(name) or _SIMULATED.search(title))


def is_list_of_countries(table: pd.DataFrame) -> bool:
    """Whether each row is a country or city: a unique column of that name."""
    for column in table.columns:
        if re.search(r"^(country|city|nation|country_?name|city_?name)s?$", column, re.I):
            values = table[column][table[column] != ""]
            if len(values) and values.nunique() > 0.9 * len(values):
                return True
    return False
