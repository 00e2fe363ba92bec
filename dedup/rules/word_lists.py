"""Words that change what a sentence says, each list in several languages, as tokens."""

from __future__ import annotations

from dedup.signature.normalise import normalise


def _tokens(words: str) -> frozenset[bytes]:
    return frozenset(word.encode() for word in normalise(words).split())


DATE_WORDS = _tokens("""
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
""")
"""Months and weekdays of English, German, French, Spanish, Italian, Portuguese, Dutch and Chinese."""

NUMBER_WORDS = _tokens("""
one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen
nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million billion half twice
first second third fourth fifth noon midnight today tomorrow
zwei drei vier fünf sechs sieben acht neun zehn elf zwölf zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig
neunzig hundert tausend heute morgen
deux trois quatre cinq sept huit neuf dix onze douze treize quatorze quinze seize vingt trente quarante cinquante
soixante cent mille demain
dos tres cuatro cinco seis siete ocho nueve diez once doce veinte treinta cuarenta cincuenta cien ciento mil mañana
今天 明天
""")
"""Numbers and days of English, German, French, Spanish and Chinese; Chinese numerals are recognised by themselves."""

NEGATIONS = _tokens("""
not no never nor neither without cannot none nobody nothing t
off cancelled canceled cancels cancel postponed suspended closed closes permanently good
nicht kein keine keinen keiner keinem keines nie niemals ohne weder abgesagt verschoben entfällt geschlossen endgültig
ne pas non jamais aucun aucune sans annulé annulée annulés annulées reporté reportée fermé fermée définitivement
nunca jamás ni sin ningún ninguna cancelado cancelada aplazado aplazada suspendido suspendida cerrado cerrada
definitivamente
niet geen nooit zonder não jamais sem senza لا لم لن ليس ليست عدم بدون не нет без никогда
不 没 没有 未 无 取消 停止 推迟 延期 关闭 永久
""")
"""What denies or calls off, in these languages, and denies in a few more.

`t` is of "isn't", `off` of "called off", `good` of "for good".
"""

FREE_WORDS = _tokens(
    "free kostenlos kostenfrei gratis gratuit gratuite gratuits gratuites gratuito gratuita gratuitos gratuitas 免费"
)
"""What has no price, in these languages."""
