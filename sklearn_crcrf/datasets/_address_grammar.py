"""A grammar of postal addresses in five national styles.

A symbol begins with ``$``. ``RULES`` lists its alternatives; a repeated alternative is likelier,
and ``+`` joins a word to the previous one. Symbols without a rule are words of ``vocabulary()``.
If the part of a symbol after the dot is one of ``SEGMENTS``, it is the label of its words.
"""

import random
import string
from functools import cache

__all__ = ["RULES", "SEGMENTS", "vocabulary"]

SEGMENTS = (
    "recipient",
    "number",
    "street",
    "unit",
    "city",
    "region",
    "postcode",
    "country",
)

RULES = {
    "$address": ("$us", "$us", "$uk", "$uk", "$nl", "$de", "$es"),
    # American: number before street, unit behind it, region and postcode last.
    "$us": (
        "$us.to $us.number $us.street $us.unit_ , $us.city , $us.region $us.postcode $us.end",
        "$us.to $us.number $us.street $us.unit_ , $us.city , $us.region $us.postcode",
        "$us.to $us.number $us.street , $us.city $us.region",
        "$us.to PO Box $us.number , $us.city , $us.region $us.postcode",
        "$us.number $us.street , $us.city",
    ),
    "$us.to": ("", "$us.recipient ,", "$us.recipient ,", "Attn $us.recipient ,"),
    "$us.recipient": (
        "$given $en.name",
        "$given $en.name",
        "$given $initial $en.name",
        "$title $en.name",
        "$en.name $shop",
        "$en.name & $en.name $company",
    ),
    "$us.number": ("$n9999", "$n999", "$n999"),
    "$us.street": (
        "$us.named $us.way",
        "$us.named $us.way",
        "$us.named $us.way",
        "$compass $us.named $us.way",
        "$compass $ordinal $us.way",
        "$ordinal $us.way",
        "$us.way $letter",
        "Highway $n99",
    ),
    "$us.named": ("$motif", "$motif", "$motif", "$en.road", "$en.road", "$en.road", "St $given"),
    "$us.unit_": ("", "", "", ", $us.unit", "$us.unit"),
    "$us.unit": ("$flat $n99", "$flat $n99", "$flat $letter", "# $n99", "$n9 $floor"),
    "$us.city": (
        "$en.town",
        "$en.town",
        "$en.town",
        "$en.town $place",
        "$quality $en.town",
        "St $given",
    ),
    "$us.region": ("$state",),
    "$us.postcode": ("$zip",),
    "$us.end": ("", ", $us.country"),
    "$us.country": ("USA", "USA", "United States", "US"),
    # British: flat before number, a locality, a postcode of two words.
    "$uk": (
        "$uk.to $uk.flat $uk.number $uk.street , $uk.city , $uk.postcode",
        "$uk.to $uk.flat $uk.number $uk.street , $uk.city $uk.postcode $uk.end",
        "$uk.to $uk.number $uk.street , $uk.city , $uk.region , $uk.postcode $uk.end",
        "$uk.to $uk.house , $uk.street , $uk.city , $uk.postcode",
        "$uk.number $uk.street $uk.city",
    ),
    "$uk.to": ("", "$us.recipient ,", "$us.recipient ,", "FAO $us.recipient ,"),
    "$uk.flat": ("", "", "", "$uk.unit", "$uk.unit ,"),
    "$uk.unit": ("$flat $n99", "$flat $n99", "$flat $letter", "$n9 $floor", "$n99 / $n9"),
    "$uk.house": ("$uk.unit",),
    "$uk.number": ("$n99", "$n99", "$n999", "$n999", "$n99 $letter", "$n99 - $n99"),
    "$uk.street": (
        "$us.named $uk.way",
        "$us.named $uk.way",
        "$us.named $uk.way",
        "The $uk.way",
        "$quality $uk.way",
        "$en.road $place $uk.way",
        "$motif $en.road",
    ),
    "$uk.city": (
        "$en.town",
        "$en.town",
        "$en.town on $en.town",
        "$quality $en.town",
        "$en.town $place",
    ),
    "$uk.region": ("$county", "$en.town +shire", "$compass $county"),
    "$uk.postcode": ("$outward $inward",),
    "$uk.end": ("", "", ", $uk.country"),
    "$uk.country": ("United Kingdom", "UK", "England", "Scotland", "Great Britain"),
    # Dutch: street in one word before the number, postcode before the city.
    "$nl": (
        "$nl.to $nl.street $nl.number $nl.unit_ , $nl.postcode $nl.city $nl.end",
        "$nl.to $nl.street $nl.number , $nl.postcode $nl.city",
        "$nl.street $nl.number $nl.unit_ $nl.city",
    ),
    "$nl.to": ("", "$nl.recipient ,", "t.a.v. $nl.recipient ,"),
    "$nl.recipient": ("$given van $nl.name", "$initial $nl.name", "Fam. $nl.name", "$nl.name B.V."),
    "$nl.street": (
        "$nl.motif",
        "$nl.motif",
        "$nl.road +weg",
        "$given $nl.road +straat",
        "Laan van $nl.road",
        "$nl.road",
    ),
    "$nl.number": ("$n99", "$n99", "$n999"),
    "$nl.unit_": ("", "", "$nl.unit"),
    "$nl.unit": ("$letter", "bis", "- $n9", "hs", "$n9 hoog"),
    "$nl.postcode": ("$n9999 $pair",),
    "$nl.city": ("$nl.town", "$nl.town", "$nl.town", "Den $nl.town", "$nl.town aan Zee"),
    "$nl.end": ("", "", ", $nl.country"),
    "$nl.country": ("Nederland", "Netherlands", "NL", "The Netherlands"),
    # German: the same order, five digits, a country code before them.
    "$de": (
        "$de.to $de.street $de.number , $de.postcode $de.city $de.end",
        "$de.to $de.street $de.number , $de.postcode $de.city",
        "$de.to $de.street $de.number , $de.unit , $de.postcode $de.city",
        "$de.to $de.postcode $de.city , $de.street $de.number",
    ),
    "$de.to": ("", "$de.recipient ,", "z.Hd. $de.recipient ,"),
    "$de.recipient": ("$given $de.name", "$de.title $de.name", "$de.name $de.company"),
    "$de.street": (
        "$de.motif",
        "$de.motif",
        "$de.road +er $de.way",
        "$given $de.road $de.way",
        "Am $de.road",
        "An der $de.road",
    ),
    "$de.number": ("$n99", "$n99", "$n99", "$n99 $letter"),
    "$de.unit": ("$n9 . OG", "Whg. $n99", "EG"),
    "$de.postcode": ("$zip", "$zip", "D - $zip"),
    "$de.city": ("$de.town", "$de.town", "$de.town", "$de.town am $de.town", "Bad $de.town"),
    "$de.end": ("", "", ", $de.country"),
    "$de.country": ("Deutschland", "Germany", "DE", "GERMANY"),
    # Spanish: the kind of street first, floor and door behind the number.
    "$es": (
        "$es.to $es.street , $es.number , $es.unit , $es.postcode $es.city",
        "$es.to $es.street $es.number , $es.postcode $es.city , $es.region",
        "$es.to $es.street $es.number $es.unit , $es.postcode $es.city $es.end",
        "$es.street , $es.number , $es.city",
    ),
    "$es.to": ("", "$es.recipient ,", "$es.recipient ,"),
    "$es.recipient": ("$given $es.name", "$given $es.name $es.name", "$es.title $es.name"),
    "$es.street": (
        "$es.way $es.road",
        "$es.way de $es.road",
        "$es.way de la $es.motif",
        "$es.way $es.motif",
        "$es.way $given $es.road",
    ),
    "$es.number": ("$n99", "$n99", "$n99", "s/n", "nº $n99"),
    "$es.unit": ("$n9 º $letter", "$n9 º", "Bajo $letter", "Piso $n9", "Piso $n9 $letter"),
    "$es.postcode": ("$zip",),
    "$es.city": ("$es.town", "$es.town", "San $given", "$es.town", "$es.town del $es.town"),
    "$es.region": ("$es.town", "$es.town"),
    "$es.end": ("", "", ", $es.country"),
    "$es.country": ("España", "Spain", "ES"),
}

_WORDS = {
    "$us.way": "Street St Ave Avenue Rd Road Dr Drive Blvd Ln Lane St. Ct Court Pl Pkwy Way",
    "$uk.way": "Road Street Lane Rd St Close Avenue Court Gardens Park Way Hill Green Mews Terrace",
    "$de.way": "Straße Str. Weg Platz Allee Ring Gasse Str",
    "$es.way": "Calle C/ Avenida Avda. Av. Plaza Paseo Pza. Camino",
    "$motif": "Main Church Park Oak High Station Mill Maple Lake King Queen Washington Victoria "
    "Hill Spring Green Bridge Court River School Cedar Market Garden Lincoln Franklin York Chester",
    "$nl.motif": "Kerkstraat Dorpsstraat Molenweg Stationsweg Schoolstraat Parklaan Nieuwstraat "
    "Hoofdstraat Beukenlaan Marktplein Kastanjelaan Singel Kade Prinsengracht Dijk",
    "$de.motif": "Hauptstraße Bahnhofstr. Schulstraße Gartenweg Kirchplatz Dorfstraße Lindenallee "
    "Bergstraße Mühlweg Ringstraße Waldweg Marktplatz",
    "$es.motif": "Constitución Mayor Iglesia Fuente Real Paz Sol Luna Estación Rosa Victoria",
    "$given": "John Mary Anna David Peter Maria Thomas Laura James Sophie Martin Helen Paul Rosa "
    "George Emma Daniel Victoria Jan Clara Lucas Lincoln Florence Chester Frank Madison Carlos",
    "$title": "Mr Mrs Dr Ms Prof Mr. Dr. Sir",
    "$de.title": "Herr Frau Dr. Familie Fam.",
    "$es.title": "Sr. Sra. D. Dña. Dr.",
    "$shop": "Bakery Hotel School Ltd Motors Church Park Clinic Stores Inn",
    "$company": "Ltd Inc LLC Sons Partners Co.",
    "$de.company": "GmbH AG KG Hotel",
    "$compass": "N North West S E South East W NE SW",
    "$flat": "Apt Flat Unit Suite Apt. Ste Room Block Floor Apartment",
    "$floor": "Floor Fl floor",
    "$place": "Park Hill Bridge Green Lake Heights Falls Court Station Mills",
    "$quality": "New North West Great Little Old East Upper South High Mount Lower",
    "$state": "CA NY TX IL DE OR IN WA Washington York MA Georgia FL OH PA Texas CO ME",
    "$county": "Kent York Sussex Essex Norfolk Chester Lancs Devon Durham",
}

_NUMBERS = {"$n9": range(1, 10), "$n99": range(1, 80), "$n999": range(10, 500)}

# 9 stands for a digit, A for a letter.
_CODES = {
    "$n9999": ("9999", 900),
    "$zip": ("99999", 900),
    "$outward": ("AA9", 200),
    "$inward": ("9AA", 600),
    "$pair": ("AA", 200),
    "$letter": ("A", 12),
    "$initial": ("A.", 20),
}

_N_LONG_NAMES = 700

_SYLLABLES = {
    "en": (
        "ash bar brad car clay dar ed far gil hal har ken lan mal nor ost pem rad sel stan wal",
        "a e er ing o el en",
        "ton ham ford bury ley wick field wood by worth man son well",
    ),
    "nl": (
        "am beek bos del dor eem gel haar hoog kamp lin maas oost rijs scha til vel wier zand zwol",
        "e er el en o",
        "dam drecht wijk burg veen dijk horst lo meer huizen stra man",
    ),
    "de": (
        "alt bam brand dett eber fried göt hei kal lin man nord ober reut schön stein uhl wald",
        "en er el in s",
        "berg stadt dorf hausen heim feld bach burg mann hof tal",
    ),
    "es": (
        "al bel cas dul es fuen gar her jar len mar nav oli pal ron sal tor val vil zam",
        "a e i o an er",
        "ares illa osa ero ada ales ín edo ura ante ez orra",
    ),
}


@cache
def vocabulary() -> dict[str, list[str]]:
    """The words of each symbol without a rule; the first are meant to be the most frequent.

    People, roads and towns of one language share many names, with different frequencies.
    """
    rng = random.Random(0)
    names = {}
    for language, parts in _SYLLABLES.items():
        pool = _names(rng, *map(str.split, parts))
        for use in ("name", "road", "town"):
            names[f"${language}.{use}"] = rng.sample(pool, len(pool) // 2)
    return (
        {symbol: words.split() for symbol, words in _WORDS.items()}
        | {symbol: [str(n) for n in numbers] for symbol, numbers in _NUMBERS.items()}
        | {"$ordinal": [_ordinal(n) for n in range(1, 60)]}
        | {symbol: _codes(rng, pattern, n) for symbol, (pattern, n) in _CODES.items()}
        | names
    )


def _ordinal(n: int) -> str:
    suffix = "th" if n % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th")
    return f"{n}{suffix}"


def _codes(rng: random.Random, pattern: str, n: int) -> list[str]:
    alphabets = {"9": string.digits, "A": string.ascii_uppercase}
    return list({"".join(rng.choice(alphabets.get(c, c)) for c in pattern): None for _ in range(n)})


def _names(rng: random.Random, heads: list[str], links: list[str], tails: list[str]) -> list[str]:
    short = [head + tail for head in heads for tail in tails]
    long = [head + link + tail for head in heads for link in links for tail in tails]
    return [name.capitalize() for name in short + rng.sample(long, _N_LONG_NAMES)]
