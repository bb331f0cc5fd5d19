"""Facts about countries: only capitals and codes that nobody disputes."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

# Left out: capitals or seats of government that are disputed or on the move, and names that people bear, too.
_COUNTRIES = """
    Afghanistan|AF|AFG|Kabul
    Albania|AL|ALB|Tirana
    Algeria|DZ|DZA|Algiers
    Andorra|AD|AND|Andorra la Vella
    Angola|AO|AGO|Luanda
    Argentina|AR|ARG|Buenos Aires
    Armenia|AM|ARM|Yerevan
    Australia|AU|AUS|Canberra
    Austria|AT|AUT|Vienna
    Azerbaijan|AZ|AZE|Baku
    Bahrain|BH|BHR|Manama
    Bangladesh|BD|BGD|Dhaka
    Barbados|BB|BRB|Bridgetown
    Belarus|BY|BLR|Minsk
    Belgium|BE|BEL|Brussels
    Belize|BZ|BLZ|Belmopan
    Bhutan|BT|BTN|Thimphu
    Bosnia and Herzegovina|BA|BIH|Sarajevo
    Botswana|BW|BWA|Gaborone
    Brazil|BR|BRA|Brasilia
    Brunei|BN|BRN|Bandar Seri Begawan
    Burkina Faso|BF|BFA|Ouagadougou
    Cambodia|KH|KHM|Phnom Penh
    Cameroon|CM|CMR|Yaounde
    Canada|CA|CAN|Ottawa
    Cape Verde|CV|CPV|Praia
    Colombia|CO|COL|Bogota
    Costa Rica|CR|CRI|San Jose
    Croatia|HR|HRV|Zagreb
    Cuba|CU|CUB|Havana
    Denmark|DK|DNK|Copenhagen
    Ecuador|EC|ECU|Quito
    El Salvador|SV|SLV|San Salvador
    Eritrea|ER|ERI|Asmara
    Estonia|EE|EST|Tallinn
    Ethiopia|ET|ETH|Addis Ababa
    Fiji|FJ|FJI|Suva
    Finland|FI|FIN|Helsinki
    France|FR|FRA|Paris
    Gabon|GA|GAB|Libreville
    Gambia|GM|GMB|Banjul
    Germany|DE|DEU|Berlin
    Ghana|GH|GHA|Accra
    Greece|GR|GRC|Athens
    Guinea|GN|GIN|Conakry
    Guinea-Bissau|GW|GNB|Bissau
    Haiti|HT|HTI|Port-au-Prince
    Honduras|HN|HND|Tegucigalpa
    Hungary|HU|HUN|Budapest
    Iceland|IS|ISL|Reykjavik
    India|IN|IND|New Delhi
    Iraq|IQ|IRQ|Baghdad
    Ireland|IE|IRL|Dublin
    Italy|IT|ITA|Rome
    Jamaica|JM|JAM|Kingston
    Japan|JP|JPN|Tokyo
    Kenya|KE|KEN|Nairobi
    Kyrgyzstan|KG|KGZ|Bishkek
    Laos|LA|LAO|Vientiane
    Latvia|LV|LVA|Riga
    Lebanon|LB|LBN|Beirut
    Lesotho|LS|LSO|Maseru
    Liberia|LR|LBR|Monrovia
    Libya|LY|LBY|Tripoli
    Liechtenstein|LI|LIE|Vaduz
    Lithuania|LT|LTU|Vilnius
    Luxembourg|LU|LUX|Luxembourg City
    Madagascar|MG|MDG|Antananarivo
    Malawi|MW|MWI|Lilongwe
    Maldives|MV|MDV|Male
    Mali|ML|MLI|Bamako
    Malta|MT|MLT|Valletta
    Mauritania|MR|MRT|Nouakchott
    Mauritius|MU|MUS|Port Louis
    Mexico|MX|MEX|Mexico City
    Moldova|MD|MDA|Chisinau
    Montenegro|ME|MNE|Podgorica
    Morocco|MA|MAR|Rabat
    Mozambique|MZ|MOZ|Maputo
    Namibia|NA|NAM|Windhoek
    Nepal|NP|NPL|Kathmandu
    New Zealand|NZ|NZL|Wellington
    Nicaragua|NI|NIC|Managua
    Niger|NE|NER|Niamey
    Nigeria|NG|NGA|Abuja
    North Macedonia|MK|MKD|Skopje
    Norway|NO|NOR|Oslo
    Oman|OM|OMN|Muscat
    Pakistan|PK|PAK|Islamabad
    Panama|PA|PAN|Panama City
    Papua New Guinea|PG|PNG|Port Moresby
    Paraguay|PY|PRY|Asuncion
    Peru|PE|PER|Lima
    Philippines|PH|PHL|Manila
    Poland|PL|POL|Warsaw
    Portugal|PT|PRT|Lisbon
    Qatar|QA|QAT|Doha
    Romania|RO|ROU|Bucharest
    Rwanda|RW|RWA|Kigali
    Samoa|WS|WSM|Apia
    Saudi Arabia|SA|SAU|Riyadh
    Senegal|SN|SEN|Dakar
    Serbia|RS|SRB|Belgrade
    Sierra Leone|SL|SLE|Freetown
    Slovakia|SK|SVK|Bratislava
    Slovenia|SI|SVN|Ljubljana
    Solomon Islands|SB|SLB|Honiara
    Somalia|SO|SOM|Mogadishu
    Spain|ES|ESP|Madrid
    Sudan|SD|SDN|Khartoum
    Suriname|SR|SUR|Paramaribo
    Sweden|SE|SWE|Stockholm
    Tajikistan|TJ|TJK|Dushanbe
    Thailand|TH|THA|Bangkok
    Togo|TG|TGO|Lome
    Tonga|TO|TON|Nuku'alofa
    Tunisia|TN|TUN|Tunis
    Turkmenistan|TM|TKM|Ashgabat
    Uganda|UG|UGA|Kampala
    Ukraine|UA|UKR|Kyiv
    United Arab Emirates|AE|ARE|Abu Dhabi
    United Kingdom|GB|GBR|London
    Uruguay|UY|URY|Montevideo
    Uzbekistan|UZ|UZB|Tashkent
    Vanuatu|VU|VUT|Port Vila
    Venezuela|VE|VEN|Caracas
    Vietnam|VN|VNM|Hanoi
    Zambia|ZM|ZMB|Lusaka
    Zimbabwe|ZW|ZWE|Harare
"""


def facts() -> Iterator[tuple[str, object]]:
    """Yield questions with their answers."""
    for row in _COUNTRIES.split("\n"):
        if row.strip():
            country, two, three, capital = row.strip().split("|")
            yield f"What is the capital of {country}?", capital
            yield f"Of which country is {capital} the capital?", country
            yield f"What is the two-letter ISO 3166 code of {country}?", two
            yield f"Which country has the two-letter ISO 3166 code {two}?", country
            yield f"What is the three-letter ISO 3166 code of {country}?", three
            yield f"Which country has the three-letter ISO 3166 code {three}?", country
