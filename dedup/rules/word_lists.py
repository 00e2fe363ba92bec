"""Words that change what a sentence says, each list in several languages, as tokens."""

from __future__ import annotations

from dedup.signature.normalise import normalise


def _tokens(words: str) -> frozenset[bytes]:
    return frozenset(word.encode() for word in normalise(words).split())


def _numbered(rows: str, *numbers: int) -> dict[bytes, str]:
    """Return the number of the row that each word stands in."""
    found = zip(numbers, rows.strip().splitlines(), strict=True)
    return {token: str(number) for number, row in found for token in _tokens(row)}


MONTHS = _numbered(
    """
January Jan Januar Jänner janvier enero gennaio janeiro januari 一月 январь января январе
February Feb Februar Feber février febrero febbraio fevereiro februari 二月 февраль февраля феврале
March Mar März Mär mars marzo março maart 三月 март марта марте
April Apr avril abril aprile 四月 апрель апреля апреле
May Mai mayo maggio maio mei 五月 май мая мае
June Jun Juni juin junio giugno junho 六月 июнь июня июне
July Jul Juli juillet julio luglio julho 七月 июль июля июле
August Aug août agosto augustus 八月 август августа августе
September Sep Sept septembre septiembre settembre setembro 九月 сентябрь сентября сентябре
October Oct Oktober Okt octobre octubre ottobre outubro 十月 октябрь октября октябре
November Nov novembre noviembre novembro 十一月 ноябрь ноября ноябре
December Dec Dezember Dez décembre diciembre dicembre dezembro 十二月 декабрь декабря декабре
""",
    *range(1, 13),
)
"""Months of English, German, French, Spanish, Italian, Portuguese, Dutch, Chinese and Russian, with their numbers."""

WEEKDAYS = _numbered(
    """
Monday Mon Montag lundi lunes lunedì maandag 星期一 周一 月曜
Tuesday Tue Tues Dienstag mardi martes martedì dinsdag 星期二 周二 火曜
Wednesday Wed Mittwoch mercredi miércoles mercoledì woensdag 星期三 周三 水曜
Thursday Thu Thurs Donnerstag jeudi jueves giovedì donderdag 星期四 周四 木曜
Friday Fri Freitag vendredi viernes venerdì vrijdag 星期五 周五 金曜
Saturday Sat Samstag Sonnabend samedi sábado sabato zaterdag 星期六 周六 土曜
Sunday Sun Sonntag dimanche domingo domenica zondag 星期日 星期天 周日 日曜
""",
    *range(1, 8),
)
"""Weekdays of these languages but the last, and of Japanese, with their numbers."""

DATE_WORDS = MONTHS.keys() | WEEKDAYS.keys()
"""Months and weekdays of these languages."""

NUMBERS = _numbered(
    """
one eins
two zwei deux dos
three drei trois tres tre 三
four vier quatre cuatro quattro 四
five fünf cinq cinco cinque 五
six sechs seis 六
seven sieben siete sette 七
eight acht huit ocho otto 八
nine neun neuf nueve 九
ten zehn dix diez dieci 十
eleven elf onze undici 十一
twelve zwölf douze doce dodici 十二
thirteen dreizehn treize trece tredici
fourteen vierzehn quatorze catorce quattordici
fifteen fünfzehn quinze quindici
sixteen sechzehn seize dieciséis sedici
seventeen siebzehn diecisiete diciassette
eighteen achtzehn dieciocho diciotto
nineteen neunzehn diecinueve diciannove
twenty zwanzig vingt veinte venti 二十
thirty dreißig trente treinta trenta 三十
forty vierzig quarante cuarenta quaranta 四十
fifty fünfzig cinquante cincuenta cinquanta 五十
sixty sechzig soixante sesenta sessanta 六十
seventy siebzig setenta settanta 七十
eighty achtzig ochenta ottanta 八十
ninety neunzig noventa novanta 九十
hundred hundert cien ciento cento 百
thousand tausend mille mil 千
""",
    *range(1, 21),
    *range(30, 101, 10),
    1000,
)
"""Words for numbers of English, German, French, Spanish, Italian and Chinese that are no other word in any of them."""

UNITS = _tokens("""
µg mcg mg g kg t ml cl dl l hl mm cm km mi ft lb lbs oz gal mph kmh kb mb gb tb hz khz mhz ghz kw mw kwh mah px
kilo kilos gramm grams gram grammes gramos liter litre liters litres litro litros meter metre meters metres metro metros
kilometer kilometre kilometers kilometres kilómetros kilomètres
毫克 克 千克 公斤 斤 吨 毫升 升 毫米 厘米 米 公里 千米
""")
"""Units that stand behind numbers."""

LOOK_ALIKES = _numbered(
    """
minute minutes minuten
month months monat monate monaten
million millions millionen millones milioni
billion billions milliard milliards milliarde milliarden miliardi
trillion trillions billionen billones
上午 午前
下午 午後
""",
    *range(1, 8),
)
"""Words for times and large numbers that are spelt like each other, with a number for each."""

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

CALLING_OFF = _tokens("""
off cancelled canceled cancels cancel postponed suspended closed closes permanently good
abgesagt verschoben entfällt geschlossen endgültig
annulé annulée annulés annulées reporté reportée fermé fermée définitivement
cancelado cancelada aplazado aplazada suspendido suspendida cerrado cerrada definitivamente
取消 停止 推迟 延期 关闭 永久
""")
"""What says that something does not take place, in English, German, French, Spanish and Chinese.

`off` is of "called off", `good` of "for good".
"""

NEGATIONS = CALLING_OFF | _tokens("""
not no never nor neither without cannot none nobody nothing t
nicht kein keine keinen keiner keinem keines nie niemals ohne weder
ne pas non jamais aucun aucune sans
nunca jamás ni sin ningún ninguna
niet geen nooit zonder não jamais sem senza لا لم لن ليس ليست عدم بدون не нет без никогда
不 没 没有 未 无
""")
"""What denies or calls off, in these languages, and denies in a few more; `t` is of "isn't"."""

FURTHER_NEGATIONS = _tokens("""
forbidden prohibited banned verboten untersagt interdit interdite prohibido prohibida
勿 别 莫 非 不会 不能 不可 不可以 不得 不要 不许 不准 不应 不用 不必 不再 不是 未能 未曾 未必 尚未 并未 从未 从不 并不
并非 绝不 决不 没能 无法 无须 无需 禁止 严禁 拒绝 反对 终止 中止 暂停
""")
"""What forbids and refuses, and Chinese negations of more than one character; the report alone heeds them."""

SAME_NEGATION = {b"t": b"not", b"cannot": b"not", b"canceled": b"cancelled"}
"""What denies in the same way as another word."""

FREE_WORDS = _tokens(
    "free kostenlos kostenfrei gratis gratuit gratuite gratuits gratuites gratuito gratuita gratuitos gratuitas 免费"
)
"""What has no price, in these languages."""

POSTS = _tokens("""
deputy vice acting interim assistant former ex outgoing incoming designate
stellvertretender stellvertretende stellvertretenden vize kommissarischer kommissarische kommissarischen
ehemaliger ehemalige ehemaligen ehemals früherer frühere früheren designierter designierte designierten
adjoint adjointe ancien ancienne intérimaire exalcalde exministro antiguo antigua interino interina adjunto adjunta
副 代 前 原 常务 代理 前任 原任 候任 名誉 助理 临时
""")
"""What makes another post of one, in English, German, French, Spanish and Chinese; the report alone heeds it."""

AND_WORDS = _tokens("and und et y e og och en 和 与 及 以及 跟")
"""What stands before the last name of several; the report alone heeds it."""

DATING_WORDS = _tokens("""
updated update modified revised revision published posted printed retrieved accessed
aktualisiert stand geändert veröffentlicht gedruckt abgerufen actualisé actualisée modifié publié actualizado publicado
更新 修改 修订 发布 发表 打印
""")
"""What stands before the date of a text itself, in these languages; the report alone heeds it."""

SURNAMES = frozenset(
    "王李张刘陈杨黄赵吴周徐孙马朱胡郭何林高罗郑梁谢宋唐许韩邓冯曹彭曾肖田董潘袁蔡蒋余于杜叶程魏"
    "苏吕丁任卢姚沈钟姜崔谭陆范汪廖石金韦贾夏付方邹熊白孟秦邱侯江尹薛闫段雷龙黎史陶贺毛郝顾龚邵万覃武钱戴严莫孔向常"
)
"""The hundred most frequent family names of China, each a character; the report alone heeds them."""
