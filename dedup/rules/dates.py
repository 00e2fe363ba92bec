"""Names of months and days of the week: they change from page to page of a calendar, as numbers do."""

from __future__ import annotations

from dedup.signature.normalise import normalise

_NAMES = """
January February March April May June July August September October November December
Jan Feb Mar Apr Jun Jul Aug Sep Sept Oct Nov Dec
Monday Tuesday Wednesday Thursday Friday Saturday Sunday Mon Tue Tues Wed Thu Thurs Fri Sat Sun
Januar Februar März Mai Juni Juli Oktober Dezember Jänner Feber Mär Okt Dez
Montag Dienstag Mittwoch Donnerstag Freitag Samstag Sonnabend Sonntag
janvier février mars avril mai juin juillet août septembre octobre novembre décembre
lundi mardi mercredi jeudi vendredi samedi dimanche
enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre
lunes martes miércoles jueves viernes sábado domingo
gennaio febbraio aprile maggio giugno luglio settembre ottobre dicembre
lunedì martedì mercoledì giovedì venerdì sabato domenica
janeiro fevereiro março maio junho julho setembro outubro novembro dezembro
januari februari maart mei augustus maandag dinsdag woensdag donderdag vrijdag zaterdag zondag
一月 二月 三月 四月 五月 六月 七月 八月 九月 十月 十一月 十二月
星期一 星期二 星期三 星期四 星期五 星期六 星期日 星期天 周一 周二 周三 周四 周五 周六 周日
"""

DATE_WORDS = frozenset(word.encode() for word in normalise(_NAMES).split())
"""Of English, German, French, Spanish, Italian, Portuguese, Dutch and Chinese, as tokens."""
