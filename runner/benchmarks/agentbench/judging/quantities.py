"""Numbers in prose, with their units: `1,234.5 kg`, `72 °F`, `2 h 30 min`, `1.2 × 10^6`, `twelve`.

What may be read in two ways is read in both: `12 345` is twelve thousand, and two numbers.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache

SLACK = 1e-12
"""Of a comparison, relative: binary fractions of decimal ones."""
SAME = 1e-6
"""A fraction that is as near as this is that fraction: 0.3 for 0.30000000000000004."""
EXACT_DIGITS = 15
"""Beyond these a float holds no whole number: 25! is compared digit by digit."""
LEAST_DIGITS = 3
"""From which on a rounded figure is that figure: 12.3 for 12.34, never 12."""


@dataclass(frozen=True, kw_only=True)
class Unit:
    dimension: str
    factor: float = 1.0
    """To the dimension's own unit."""
    offset: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Quantity:
    """A number as it stands in a text."""

    start: int
    end: int
    """Behind the unit."""
    number: float
    last_digit: float
    """What one more in the last digit shown would add."""
    digits: int
    """That say something: without leading zeros."""
    shows_places: bool = False
    """It has a fraction or a power: its last digit is meant. 1,230 may be 1,234 or not."""
    whole: str = ""
    """The digits of a whole number that is written out."""
    unit: str = ""
    """As it is written; empty if none that is known follows."""


# --- units --------------------------------------------------------------------------------------

_LINES = """
length 1 m* metre* metres* meter* meters*
length 0.01 cm centimetre centimetres centimeter centimeters
length 1e-6 micron microns
length 0.0254 in inch inches
length 0.3048 ft foot feet
length 0.9144 yd yard yards
length 1609.344 mi mile miles
length 1852 nmi nautical-mile nautical-miles
length 9460730472580800 ly light-year light-years
length 149597870700 au AU astronomical-unit astronomical-units
mass 0.001 g* gram* grams* gramme grammes
mass 1 kilo kilos
mass 1e-9 mcg
mass 1000 t tonne tonnes metric-ton metric-tons
mass 0.45359237 lb lbs pound pounds
mass 0.028349523125 oz ounce ounces
mass 6.35029318 stone
mass 6.479891e-5 gr grain grains
time 1 s* sec secs second* seconds*
time 60 min mins minute minutes
time 3600 h hr hrs hour hours
time 86400 d day days
time 604800 wk week weeks
month 1 month months
year 1 yr year years
volume 1 l* L* litre* litres* liter* liters*
volume 0.01 cl cL centilitre centilitres
volume 0.1 dl dL decilitre decilitres
volume 1000 m3 m³ m^3 cubic-metre cubic-metres cubic-meter cubic-meters
volume 0.001 cm3 cm³ cm^3 cc cubic-centimetre cubic-centimetres cubic-centimeter cubic-centimeters
volume 3.785411784 gal gallon gallons
volume 0.946352946 qt quart quarts
volume 0.473176473 pint pints
volume 0.2365882365 cup cups
volume 0.0295735295625 fl-oz fluid-ounce fluid-ounces
volume 0.01478676478125 tbsp tablespoon tablespoons
volume 0.00492892159375 tsp teaspoon teaspoons
area 1 m2 m² m^2 sqm square-metre square-metres square-meter square-meters
area 1e-4 cm2 cm² cm^2 square-centimetre square-centimetres square-centimeter square-centimeters
area 1e6 km2 km² km^2 square-kilometre square-kilometres square-kilometer square-kilometers
area 10000 ha hectare hectares
area 4046.8564224 acre acres
area 0.09290304 ft2 ft² ft^2 sq-ft square-foot square-feet
area 2589988.110336 square-mile square-miles mi²
speed 1 m/s metres-per-second meters-per-second
speed 0.2777777777777778 km/h kmh kph kilometres-per-hour kilometers-per-hour
speed 0.44704 mph miles-per-hour
speed 0.5144444444444445 kn kt knot knots
energy 1 J* joule* joules*
energy 4.184 cal* calorie* calories*
energy 3600 Wh* watt-hour watt-hours
energy 3.6e6 kilowatt-hour kilowatt-hours
power 1 W* watt* watts*
pressure 1 Pa* pascal* pascals*
force 1 N* newton* newtons*
frequency 1 Hz* hertz*
angle 1 ° deg degree degrees
angle 57.29577951308232 rad radian radians
data 1 B* byte* bytes*
data 0.125 bit* bits*
data 1e3 KB
data 1024 KiB kibibyte kibibytes
data 1048576 MiB mebibyte mebibytes
data 1073741824 GiB gibibyte gibibytes
data 1099511627776 TiB tebibyte tebibytes
charge 1 C coulomb* coulombs*
current 1 A* ampere* amperes* amp amps
voltage 1 V* volt* volts*
resistance 1 Ω* ohm* ohms*
capacitance 1 F* farad* farads*
capacitance 1e-12 pF picofarad picofarads
inductance 1 H* henry* henries*
activity 1 Bq* becquerel* becquerels*
amount 1 mol* mole* moles*
molar-mass 1 g/mol* grams-per-mole
density 1 kg/m³ kg/m3
density 1000 g/cm³ g/cm3
ratio 1 times
ratio 0.01 % percent per-cent
ratio 0.001 ‰
temperature 1 °C °c celsius degrees-celsius degree-celsius
temperature 1 K kelvin kelvins
USD 1 $ USD US$ dollar dollars
EUR 1 € EUR euro euros
EUR 0.01 cent cents
GBP 1 £ GBP pounds-sterling sterling
JPY 1 ¥ JPY yen
CHF 1 CHF franc francs
INR 1 ₹ INR rupee rupees
CNY 1 CNY yuan renminbi
CAD 1 CAD C$
AUD 1 AUD A$
SEK 1 SEK
NOK 1 NOK
DKK 1 DKK
BRL 1 BRL R$
MXN 1 MXN
"""
"""Dimension, factor, names. What an asterisk ends takes the prefixes as well.

pint 0.25 knows 291 of these names and no money, takes `kilos` for kiloseconds, and costs .2 s of
processor time where it is imported.
"""
_PREFIXES = (
    ("n", "nano", 1e-9),
    ("µ", "micro", 1e-6),
    ("u", "micro", 1e-6),
    ("m", "milli", 1e-3),
    ("k", "kilo", 1e3),
    ("M", "mega", 1e6),
    ("G", "giga", 1e9),
    ("T", "tera", 1e12),
)
_SYMBOL_LETTERS = 3
"""A symbol has no more, but for `g/mol`."""
_ALSO = {
    "pound": "GBP",
    "pounds": "GBP",
    "degree": "temperature",
    "degrees": "temperature",
    "°": "temperature",
    "C": "temperature",
    "F": "temperature",
}
"""What a name may stand for besides."""
_CENTS = frozenset({"cent", "cents"})
_OF_CENTS = frozenset({"USD", "CAD", "AUD"})
"""Whose hundredth is called a cent, as well as the euro's."""
_LOOSE_LETTERS = 4
"""A unit of as many letters or more is a word, in any case; `MB` and `mb` are two things."""


@cache
def _units() -> dict[str, Unit]:
    units = {}
    for line in _LINES.strip().splitlines():
        dimension, factor, *names = line.split()
        for name in names:
            for full, times in _forms(name):
                unit = Unit(dimension=dimension, factor=float(factor) * times)
                units[_key(full.replace("-", " "))] = unit
    for name in ("°C", "°c", "celsius", "degrees celsius", "degree celsius"):
        units[_key(name)] = Unit(dimension="temperature", offset=273.15)
    for name in ("°F", "°f", "fahrenheit", "degrees fahrenheit", "degree fahrenheit"):
        units[_key(name)] = Unit(dimension="temperature", factor=5 / 9, offset=273.15 - 160 / 9)
    return units


def _forms(name: str) -> Iterator[tuple[str, float]]:
    """A name with each prefix, and what that multiplies it by."""
    plain = name.removesuffix("*")
    yield plain, 1.0
    if plain != name:
        is_symbol = len(plain) <= _SYMBOL_LETTERS or "/" in plain
        for letter, word, times in _PREFIXES:
            yield f"{letter if is_symbol else word}{plain}", times


def _key(name: str) -> str:
    return name.casefold() if len(name) >= _LOOSE_LETTERS else name


def unit_of(name: str) -> Unit | None:
    """None for a name that is no unit known here, and for none."""
    plain = " ".join(name.replace("μ", "µ").split())
    return _units().get(_key(plain))


# --- numbers in a text --------------------------------------------------------------------------

_TEENS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
    "fifteen sixteen seventeen eighteen nineteen"
).split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_SPOKEN = {word: n for n, word in enumerate(_TEENS)} | {
    word: 10 * n for n, word in enumerate(_TENS, 2)
}
_SCALES = {"thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}
_NUMBER = re.compile(
    r"""
    (?<![\w.,/#])                                  # not the end of a name, a version, a path
    (?P<sign>(?<![\d)\]–-])[-−–+])?
    (?:(?P<money>US\$|C\$|A\$|R\$|[$€£¥₹]
       |(?:USD|EUR|GBP|JPY|CHF|INR|CNY|CAD|AUD|SEK|NOK|DKK|BRL|MXN)(?=[ \d]))[ ]?)?
    (?:
        (?P<grouped>\d{1,3}(?:[,'\u00a0\u202f\u2009]\d{3})+(?![\d]))
      | (?P<plain>\d+|(?=\.\d))                     # `p = .0286`
    )
    (?P<fraction>\.\d+)?
    (?:
        [eE](?P<e>[-+−]?\d{1,3})(?!\w)
      | \s?(?:×|x|\*|·)\s?10(?:\^|\*\*)\{?\(?(?P<power>[-−]?\d{1,3})\)?\}?
      | \s?(?:×|x|\*|·)\s?10(?P<raised>[⁻⁰¹²³⁴-⁹]+)
    )?
    (?:[ ](?P<scale>thousand|million|billion|trillion)\b)?
    """,
    re.VERBOSE,
)
_COMMA_FRACTION = re.compile(
    r"(?<![\w.,])(?P<sign>-?)(?P<whole>\d{1,3}(?:\.\d{3})+|\d{1,3}(?:[ \u00a0\u202f]\d{3})+|\d+)"
    r",(?P<fraction>\d+)(?!\d|[.,]\d)"
)
_DOTTED = re.compile(
    r"(?<![\w.,])(?!(?:[12]\d\d\.){3}[12]\d\d(?!\d|\.\d))"
    r"(?P<sign>-?)(?P<whole>\d{1,3}(?:\.\d{3}){2,})(?P<fraction>)(?!\w|[.,]\d)"
)
"""`1.472.412.942`; of one dot nobody can say what it is, and `100.103.255.254` is an address."""
_SPACED = re.compile(
    r"(?<![\w.,])(?P<sign>-?)(?P<whole>\d{1,3}(?: \d{3})++)(?:\.(?P<fraction>\d+))?(?!\w|,\d)"
)
_TEEN = "|".join(reversed(_TEENS))
_BELOW_100 = rf"(?:(?:{'|'.join(_TENS)})(?:[ -](?:{'|'.join(_TEENS[1:10])}))?|{_TEEN})\b"
_BELOW_1000 = rf"(?:(?:{_BELOW_100}|a)[ -]hundred(?:(?:[ -]| and ){_BELOW_100})?|{_BELOW_100})"
_SPELLED = re.compile(
    rf"\b(?>(?P<thousands>{_BELOW_1000}|a)[ -]thousand\b(?:,? (?:and )?(?P<rest>{_BELOW_1000}))?"
    rf"|(?P<alone>{_BELOW_1000}))(?P<half> and a half)?\b(?! of\b)",
    re.IGNORECASE,
)
_RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")


_NORTH = re.compile(r"[EW],? \d+(?:\.\d+)?°? N\b|\d°? N,? \d+(?:\.\d+)?°? [EW]\b")
"""`9.05 E 46.25 N`: no newtons."""


@cache
def _unit_pattern() -> re.Pattern[str]:
    names = sorted(_units().keys() - {"in"}, key=len, reverse=True)
    words = [re.escape(name).replace(r"\ ", "[ -]") for name in names]
    loose = "|".join(w for w, name in zip(words, names, strict=True) if len(name) >= _LOOSE_LETTERS)
    strict = "|".join(w for w, name in zip(words, names, strict=True) if len(name) < _LOOSE_LETTERS)
    # "12.34 in Berlin" has no inches; "7 m/min" is no length.
    return re.compile(rf"[ \u00a0\u202f-]?(?:(?i:{loose})|{strict}|in(?=[.,;)]|$))(?![\w/^²³])")


@lru_cache(maxsize=256)
def quantities(text: str) -> tuple[Quantity, ...]:
    """Every reading of every number, by where they begin.

    An answer is asked again for each value that is looked for in it.
    """
    found = [*_figures(text), *_other_readings(text), *_spelled(text)]
    found.sort(key=lambda one: (one.start, one.end))
    return (*found, *_sums(found, text))


def _figures(text: str) -> Iterator[Quantity]:
    for match in _NUMBER.finditer(text):
        digits = re.sub(r"\D", "", match["grouped"] or match["plain"])
        scale = _SCALES.get(match["scale"] or "", 1.0) * float(f"1e{_exponent(match)}")
        one = _quantity(match.start(), match.end(), digits, match["fraction"] or "", scale)
        if (match["sign"] or "") in ("-", "−", "–"):
            one = _signed(one)
        yield _with_unit(one, text, match["money"] or "")


def _exponent(match: re.Match[str]) -> int:
    written = match["e"] or match["power"] or (match["raised"] or "0").translate(_RAISED)
    try:
        return int(written.replace("−", "-"))
    except ValueError:  # raised signs in an order that is no number
        return 0


def _quantity(start: int, end: int, digits: str, fraction: str, scale: float = 1.0) -> Quantity:
    """`fraction` with its point, or empty."""
    places = max(len(fraction) - 1, 0)
    return Quantity(
        start=start,
        end=end,
        number=float(f"{digits}{fraction}") * scale,
        last_digit=10.0**-places * scale,
        digits=len(f"{digits}{fraction[1:]}".lstrip("0")),
        shows_places=bool(fraction) or scale != 1.0,
        whole="" if fraction or scale != 1.0 else digits.lstrip("0"),
    )


def _signed(one: Quantity) -> Quantity:
    return Quantity(**{**vars(one), "number": -one.number})


def _with_unit(one: Quantity, text: str, money: str = "") -> Quantity:
    match = _unit_pattern().match(text, one.end)
    if match is None or _NORTH.search(text, max(one.start - 3, 0), match.end() + 20):
        return Quantity(**{**vars(one), "unit": money})
    name = match[0].strip(" -\u00a0\u202f").replace("-", " ")
    return Quantity(**{**vars(one), "unit": money or name, "end": match.end()})


def _other_readings(text: str) -> Iterator[Quantity]:
    """`12,34` as twelve and a third, `12 345` and `1.472.412` as one number."""
    for pattern in (_COMMA_FRACTION, _DOTTED, _SPACED):
        for match in pattern.finditer(text):
            digits, fraction = re.sub(r"\D", "", match["whole"]), match["fraction"]
            one = _quantity(*match.span(), digits, f".{fraction}" if fraction else "")
            yield _with_unit(_signed(one) if match["sign"] else one, text)


def _spelled(text: str) -> Iterator[Quantity]:
    for match in _SPELLED.finditer(text):
        number = 1000 * _spoken(match["thousands"]) + _spoken(match["rest"] or match["alone"])
        half = ".5" if match["half"] else ""
        yield _with_unit(_quantity(match.start(), match.end(), str(number), half), text)


def _spoken(words: str | None) -> int:
    """`a hundred and five`, below a thousand; 0 for None."""
    hundreds, has_hundred, rest = (words or "").casefold().rpartition("hundred")
    below = sum(_SPOKEN.get(word, 0) for word in re.findall(r"[a-z]+", rest))
    if not has_hundred:
        return below or int((words or "").casefold() == "a")
    return 100 * (_spoken(hundreds.strip(" -")) or 1) + below


def _sums(found: list[Quantity], text: str) -> Iterator[Quantity]:
    """`2 h 30 min`, `5 feet 11 inches`: from the first to the last of them, in the last's unit."""
    for first, second in itertools.pairwise(found):
        big, small = unit_of(first.unit), unit_of(second.unit)
        if big is None or small is None or big.dimension != small.dimension:
            continue
        between = text[first.end : second.start]
        if big.factor > small.factor and re.fullmatch(r"(?:,|\s|and)*", between):
            number = first.number * big.factor / small.factor + second.number
            changed = {"start": first.start, "number": number, "digits": LEAST_DIGITS}
            yield Quantity(**{**vars(second), **changed})


# --- comparing ----------------------------------------------------------------------------------


def is_same(wanted: Quantity, said: Quantity, tolerance: float | None) -> bool:
    """Is it that figure, in any unit of its kind, or rounded to no fewer than three digits?

    `tolerance`: absolute, in the wanted one's unit; None for half of its last digit. A figure
    without a unit is taken to be in the right one.
    """
    if len(wanted.whole) > EXACT_DIGITS and said.whole and tolerance is None:
        return wanted.whole == said.whole
    numbers = [_converted(wanted, said)]
    if unit_of(wanted.unit) == unit_of("%") and not said.unit:
        # Of 45 %, both 45 and 0.45 are said.
        numbers.append(100 * said.number)
    if tolerance is None:
        tolerance = max(wanted.last_digit / 2, _rounding(wanted, said))
    slack = SLACK * abs(wanted.number)
    return any(
        number is not None and abs(number - wanted.number) <= tolerance + slack
        for number in numbers
    )


def is_same_unit(said: str, wanted: str) -> bool:
    """Is it that unit, in whatever words? None that is said leaves it open."""
    mine, theirs = _meant(wanted, said)
    if mine is None or theirs is None:
        return not said or said == wanted
    return mine == theirs


def _meant(wanted: str, said: str) -> tuple[Unit | None, Unit | None]:
    """Both units; a name that stands for two, `pounds`, means what the other one does: `£`."""
    mine, theirs = unit_of(wanted), unit_of(said)
    if mine and theirs and mine.dimension != theirs.dimension:
        if _ALSO.get(said) == mine.dimension:
            return mine, mine
        if _ALSO.get(wanted) == theirs.dimension:
            return theirs, theirs
    return mine, theirs


def _rounding(wanted: Quantity, said: Quantity) -> float:
    """How far off a rightly rounded figure may be."""
    trimmed = SAME * abs(wanted.number) if wanted.shows_places else 0.0
    if said.digits < LEAST_DIGITS:
        return trimmed
    mine, theirs = _meant(wanted.unit, said.unit)
    if mine is None or theirs is None or not said.unit:
        return said.last_digit / 2 if said.shows_places else 0.0
    is_other = mine.factor != theirs.factor or mine.offset != theirs.offset
    # In another unit even a whole number is rounded: 92.6 lb, 12 341 g.
    if said.shows_places or is_other:
        return said.last_digit / 2 * theirs.factor / mine.factor
    return 0.0


def _converted(wanted: Quantity, said: Quantity) -> float | None:
    """What is said, in the unit of what is wanted; None if it cannot be."""
    if said.unit == wanted.unit or not said.unit:
        return said.number
    mine, theirs = _meant(wanted.unit, said.unit)
    mine = mine if wanted.unit else Unit(dimension="ratio")
    if mine is not None and said.unit in _CENTS and mine.dimension in _OF_CENTS:
        return said.number / 100
    if not wanted.unit and theirs is not None and theirs.dimension != "ratio":
        # A bare figure of the reference leaves the unit open.
        return said.number
    if mine is None or theirs is None or mine.dimension != theirs.dimension:
        return None
    base = said.number * theirs.factor + theirs.offset
    return (base - mine.offset) / mine.factor
