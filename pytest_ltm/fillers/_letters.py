"""Facts about letters, words and codes."""

from __future__ import annotations

from itertools import pairwise
from string import ascii_lowercase, ascii_uppercase, digits
from typing import TYPE_CHECKING

from pytest_ltm.fillers._numbers import ordinal

if TYPE_CHECKING:
    from collections.abc import Iterator

_WORDS = """
    acoustics algebra altitude amplitude antenna aquifer archipelago asteroid atmosphere aurora avalanche
    axis barometer basalt bearing biology calculus caldera calendar canyon cascade cavern
    circuit climate cloudburst cluster coastline comet compass compiler condensation conductor confluence
    constellation continent corona crater crystal current cyclone decimal delta density desert diameter
    diffraction diffusion dimension drizzle drought earthquake echo eclipse ecosystem electron element
    ellipse energy engine equation equator equinox erosion estuary evaporation exponent fault filament fjord
    flood fluid foghorn formula fossil fraction frequency friction frost fulcrum galaxy gear generator
    geology geometry geyser glacier gradient granite graph gravity gyroscope hailstone halogen harmonic
    headland hemisphere horizon humidity hurricane hydraulics hydrogen hygrometer hyperbola iceberg inertia
    infinity insulator integer invertebrate ionosphere island isobar isotope isthmus kernel keyboard
    kinetics lagoon landslide lathe latitude lava lens lever lichen lightning limestone logarithm longitude
    lunar magma magnet mangrove mantle marsh matrix meadow meridian meteor microscope mineral molecule
    momentum monsoon moraine motor mountain nebula neutron nucleus oasis obelisk oblique ocean optics orbit
    orchid oscillator oxygen ozone parabola parallax parallel particle peninsula pendulum perihelion photon
    physics piston plain planet plankton plasma plateau pollen polygon polynomial prairie precipitation
    pressure prism probability propeller proton pulley pulsar quadrant quartz quotient radar radiation
    radius rainfall ravine reactor reef reflection refraction relay reservoir resistor resonance rotor
    satellite savanna seismograph semiconductor sensor signal silicon solstice sonar spectrum sphere
    stalactite static steppe strait stratosphere summit supernova switch symmetry tangent tectonics
    telescope temperature theorem thermometer thunder tide topology tornado torque transistor triangle
    tributary tsunami tundra turbine vacuum valley valve vapour vector velocity vertex viscosity volcano
    voltage vortex waterfall wavelength weather whirlpool zenith zoology
""".split()  # noqa: SIM905 - reads better than a column of strings
_NATO = """
    Alfa Bravo Delta Echo Foxtrot Golf Hotel India Kilo Lima November Papa Quebec Sierra Tango Uniform X-ray
    Yankee Zulu
""".split()  # noqa: SIM905 - reads better than a column of strings
"""Without the words that are also a person's name or a drink."""
_MORSE = """
    .- -... -.-. -.. . ..-. --. .... .. .--- -.- .-.. -- -. --- .--. --.- .-. ... - ..- ...- .-- -..- -.--
    --.. ----- .---- ..--- ...-- ....- ..... -.... --... ---.. ----.
""".split()  # noqa: SIM905 - reads better than a column of strings
"""Of A to Z and of 0 to 9."""
_GREEK = """
    alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma tau
    upsilon phi chi psi omega
""".split()  # noqa: SIM905 - reads better than a column of strings
_QWERTY = ("QWERTYUIOP", "ASDFGHJKL", "ZXCVBNM")
_KEYPAD = {"2": "ABC", "3": "DEF", "4": "GHI", "5": "JKL", "6": "MNO", "7": "PQRS", "8": "TUV", "9": "WXYZ"}


def facts() -> Iterator[tuple[str, object]]:
    """Yield questions with their answers."""
    yield from _spelling()
    yield from _alphabet()
    yield from _codes()
    yield from _keys()


def morse(sign: str) -> str:
    """Return the Morse code of a letter or digit, spoken: `dot dash`."""
    code = _MORSE[(ascii_uppercase + digits).index(sign)]
    return " ".join("dot" if mark == "." else "dash" for mark in code)


def _spelling() -> Iterator[tuple[str, object]]:
    for i, word in enumerate(_WORDS):
        yield f"How many letters has the word '{word}'?", len(word)
        yield f"How is the word '{word}' spelled backwards?", word[::-1]
        yield f"How many of the letters of '{word}' are a, e, i, o or u?", sum(letter in "aeiou" for letter in word)
        place = i % (len(word) - 1) + 1
        yield f"What is the {ordinal(place)} letter of the word '{word}'?", word[place - 1].upper()
        other = _WORDS[(i * 7 + 3) % len(_WORDS)]
        if other != word:
            yield f"Which word comes first in a dictionary, '{word}' or '{other}'?", min(word, other)


def _alphabet() -> Iterator[tuple[str, object]]:
    for i, letter in enumerate(ascii_uppercase):
        yield f"Which place has the letter {letter} in the English alphabet?", i + 1
        yield f"What is the {ordinal(i + 1)} letter of the English alphabet?", letter
        for step in (1, 2, 3):
            if i + step < len(ascii_uppercase):
                yield f"Which letter stands {step} after {letter} in the English alphabet?", ascii_uppercase[i + step]
            if i - step >= 0:
                yield f"Which letter stands {step} before {letter} in the English alphabet?", ascii_uppercase[i - step]
    for i, letter in enumerate(_GREEK):
        yield f"Which place has {letter} in the Greek alphabet?", i + 1
        yield f"What is the {ordinal(i + 1)} letter of the Greek alphabet?", letter
        if i:
            yield f"Which letter of the Greek alphabet comes directly after {_GREEK[i - 1]}?", letter


def _codes() -> Iterator[tuple[str, object]]:
    for word in _NATO:
        yield f"Which word stands for the letter {word[0]} in the NATO phonetic alphabet?", word
        yield f"Which letter does {word} stand for in the NATO phonetic alphabet?", word[0]
    for sign in ascii_uppercase + digits:
        yield f"What is the Morse code of {sign}?", morse(sign)
        yield f"What does {morse(sign)} stand for in Morse code?", sign
    for sign in ascii_uppercase + ascii_lowercase + digits:
        kind = "digit" if sign in digits else "capital letter" if sign.isupper() else "small letter"
        yield f"What is the decimal ASCII code of the {kind} {sign}?", ord(sign)
        yield f"Which {kind} has the decimal ASCII code {ord(sign)}?", sign


def _keys() -> Iterator[tuple[str, object]]:
    for row in _QWERTY:
        for left, right in pairwise(row):
            yield f"Which letter lies to the right of {left} on a QWERTY keyboard?", right
            yield f"Which letter lies to the left of {right} on a QWERTY keyboard?", left
    for digit, letters in _KEYPAD.items():
        yield f"Which letters are on the key {digit} of a telephone?", letters
        for letter in letters:
            yield f"On which digit key of a telephone is the letter {letter}?", digit
