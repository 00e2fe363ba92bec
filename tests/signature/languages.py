"""Texts in the languages that the charsets of the web are for, three paragraphs each."""

from __future__ import annotations

import re
import unicodedata

TEXTS = {
    "Arabic": """
تغادر العبارة إلى الجزيرة كل صباح من الرصيف القديم، ويصل إليها الصيادون قبل شروق الشمس بقليل.
في أيام السوق تنتظر العبارة الخباز الذي يحمل معه مئة وعشرين رغيفا وصحف الصباح، ثم تبحر ببطء عبر الخليج الهادئ.
وفي الشتاء عندما تشتد الرياح لا ينتظر أحد على الرصيف، ويبقى الناس في بيوتهم حتى تهدأ العاصفة ويعود البحر كما كان.
""",
    "Bulgarian": """
Фериботът за острова тръгва всяка сутрин от стария пристан, а рибарите идват малко преди изгрев.
В пазарните дни той чака хлебаря,
който носи сто и двадесет хляба и утринния вестник, и после бавно минава през залива.
През зимата, когато ледът е дебел, вече никой не чака на кея и хората стоят по къщите си, докато бурята утихне.
""",
    "Chinese": """
开往小岛的渡船每天早上七点四十分从旧码头出发，渔民们在日出以前就到了。
赶集的日子里，船要等面包师傅，他带来一百二十个面包和当天的报纸，然后慢慢地穿过平静的海湾。
冬天冰层很厚的时候，码头上就没有人等了，大家都留在家里，直到暴风雨过去，大海恢复原来的样子。
""",
    "Chinese of Taiwan": """
開往小島的渡船每天早上七點四十分從舊碼頭出發，漁民們在日出以前就到了。
趕集的日子裡，船要等麵包師傅，他帶來一百二十個麵包和當天的報紙，然後慢慢地穿過平靜的海灣。
冬天冰層很厚的時候，碼頭上就沒有人等了，大家都留在家裡，直到暴風雨過去，大海恢復原來的樣子。
""",
    "Czech": """
Přívoz na ostrov odjíždí každé ráno ze starého mola a rybáři přicházejí krátce před východem slunce.
Ve dnech trhu čeká na pekaře, který přiváží sto dvacet bochníků chleba a ranní noviny,
a pak pomalu pluje přes klidnou zátoku.
V zimě, když je led tlustý, už na nábřeží nikdo nečeká a lidé zůstávají ve svých domech, dokud se bouře neutiší.
""",
    "English": """
The ferry to the island leaves the old pier at twenty to eight, and the fishermen are there before the sun is up.
On market days it waits for the baker, who brings a hundred and twenty loaves and the morning paper.
In winter, when the ice is thick, nobody waits any more, and people stay at home until the storm is over.
""",
    "Esperanto": """
La pramo al la insulo foriras ĉiumatene de la malnova kajo, kaj la fiŝistoj venas antaŭ ol la suno leviĝas.
En la tagoj de la bazaro ĝi atendas la bakiston, kiu alportas cent dudek panojn kaj la ĵurnalon,
kaj poste ĝi malrapide veturas trans la trankvilan golfon.
Vintre, kiam la glacio estas dika, neniu plu atendas ĉe la haveno,
kaj ĉiuj restas hejme ĝis la ŝtormo finiĝas; ankaŭ la ĥoro ne kantas.
""",
    "Estonian": """
Praam saarele väljub igal hommikul vanalt kailt ja kalurid tulevad sinna veidi enne päikesetõusu.
Turupäevadel ootab see pagarit, kes toob sada kakskümmend leiba ja hommikuse ajalehe,
ning sõidab siis aeglaselt üle vaikse lahe.
Talvel, kui jää on paks, ei oota kail enam keegi ja inimesed jäävad oma majadesse,
kuni torm vaibub ja meri on jälle rahulik.
""",
    "French": """
Le bac pour l'île part chaque matin du vieux quai, et les pêcheurs y arrivent un peu avant le lever du soleil.
Les jours de marché il attend le boulanger,
qui apporte cent vingt pains et le journal du matin, puis il traverse lentement la baie.
L'hiver, quand la glace est épaisse, personne n'attend plus à l'embarcadère,
et chacun reste chez soi jusqu'à ce que la tempête soit passée.
""",
    "German": """
Die Fähre zur Insel fährt jeden Morgen vom alten Pier ab, und die Fischer kommen kurz vor Sonnenaufgang.
An Markttagen wartet sie auf den Bäcker, der große Brötchen und die Zeitung bringt,
und fährt dann langsam über die ruhige Bucht.
Im Winter, wenn das Eis dick ist, wartet überhaupt niemand mehr,
und alle bleiben in ihren Häusern, bis der Sturm vorüber ist.
""",
    "Greek": """
Το πλοίο για το νησί φεύγει κάθε πρωί από την παλιά αποβάθρα, και οι ψαράδες έρχονται λίγο πριν από την ανατολή.
Τις μέρες της αγοράς περιμένει τον φούρναρη,
που φέρνει εκατόν είκοσι ψωμιά και την εφημερίδα, και έπειτα περνά αργά τον κόλπο.
Τον χειμώνα, όταν φυσάει δυνατά,
κανείς δεν περιμένει πια στο λιμάνι και όλοι μένουν στα σπίτια τους μέχρι να περάσει η καταιγίδα.
""",
    "Hebrew": """
המעבורת אל האי יוצאת בכל בוקר מן הרציף הישן, והדייגים מגיעים אליו מעט לפני הזריחה.
בימי השוק היא ממתינה לאופה, שמביא מאה ועשרים כיכרות לחם ואת עיתון הבוקר, ואז חוצה לאט את המפרץ השקט.
בחורף, כאשר הרוח חזקה, איש אינו מחכה עוד על הרציף, וכולם נשארים בבתיהם עד שהסערה חולפת והים נרגע.
""",
    "Hungarian": """
A szigetre induló komp minden reggel a régi mólóról indul, és a halászok kevéssel napkelte előtt érkeznek.
Vásárnapokon megvárja a péket, aki százhúsz kenyeret és a reggeli újságot hozza, aztán lassan átkel a csendes öblön.
Télen, amikor erős a szél és hűvös az idő, már senki sem vár a kikötőben,
és mindenki otthon marad, amíg a vihar el nem ül.
""",
    "Icelandic": """
Ferjan til eyjarinnar fer á hverjum morgni frá gömlu bryggjunni og sjómennirnir koma þangað rétt fyrir sólarupprás.
Á markaðsdögum bíður hún eftir bakaranum,
sem kemur með hundrað og tuttugu brauð og morgunblaðið, og siglir svo hægt yfir fjörðinn.
Á veturna, þegar ísinn er þykkur,
bíður enginn lengur á bryggjunni og fólkið er heima hjá sér þangað til óveðrið er gengið yfir.
""",
    "Japanese": """
島への渡し船は毎朝七時四十分に古い桟橋から出ます。漁師たちは日の出の少し前にやって来ます。
市の日には、百二十個のパンと朝刊を持ってくるパン屋を待ち、それから静かな湾をゆっくりと渡っていきます。
冬になって氷が厚くなると、もう誰も桟橋で待たず、嵐が過ぎて海が元どおりになるまで、みんな家にいます。
""",
    "Korean": """
섬으로 가는 나룻배는 매일 아침 일곱 시 사십 분에 낡은 부두를 떠나고, 어부들은 해가 뜨기 조금 전에 옵니다.
장날에는 빵 백이십 개와 아침 신문을 가져오는 빵집 주인을 기다렸다가 조용한 만을 천천히 건너갑니다.
겨울에 얼음이 두꺼워지면 아무도 부두에서 기다리지 않고, 폭풍이 지나갈 때까지 모두 집에 머무릅니다.
""",
    "Latvian": """
Prāmis uz salu katru rītu atiet no vecās piestātnes, un zvejnieki tur ierodas neilgi pirms saullēkta.
Tirgus dienās tas gaida maiznieku,
kurš atved simt divdesmit maizes klaipus un rīta avīzi, un tad lēnām šķērso kluso līci.
Ziemā, kad ledus ir biezs, piestātnē vairs neviens negaida,
un visi paliek savās mājās, līdz vētra norimst un jūra atkal ir mierīga.
""",
    "Lithuanian": """
Keltas į salą kiekvieną rytą išplaukia iš senosios prieplaukos, o žvejai ateina šiek tiek prieš saulėtekį.
Turgaus dienomis jis laukia kepėjo, kuris atveža šimtą dvidešimt kepalų duonos ir rytinį laikraštį,
ir paskui lėtai plaukia per ramią įlanką.
Žiemą, kai ledas storas, prieplaukoje jau niekas nelaukia ir visi žmonės būna savo namuose,
kol audra nurimsta ir jūra vėl tampa rami.
""",
    "Maltese": """
Il-vapur għall-gżira jitlaq kull filgħodu mill-moll il-qadim, u s-sajjieda jaslu ftit qabel titla' x-xemx.
Fil-jiem tas-suq jistenna lill-furnar, li jġib mija u għoxrin ħobża u l-gazzetta ta' filgħodu,
u mbagħad jaqsam bil-mod il-bajja kwieta.
Fix-xitwa, meta r-riħ ikun qawwi, ħadd ma jibqa' jistenna fuq il-moll,
u kulħadd joqgħod ġewwa sakemm tgħaddi l-maltempata u l-baħar jerġa' jikkalma.
""",
    "Polish": """
Prom na wyspę odpływa co rano ze starego pomostu, a rybacy przychodzą tam krótko przed wschodem słońca.
W dni targowe czeka na piekarza, który przywozi sto dwadzieścia bochenków chleba i poranną gazetę,
a potem powoli płynie przez spokojną zatokę.
Zimą, gdy lód jest gruby, nikt już nie czeka na przystani i wszyscy zostają w swoich domach,
aż burza ucichnie i morze znów będzie ciche.
""",
    "Romanian": """
Bacul spre insulă pleacă în fiecare dimineață de la vechiul chei,
iar pescarii vin puțin înainte de răsăritul soarelui.
În zilele de târg îl așteaptă pe brutar,
care aduce o sută douăzeci de pâini și ziarul de dimineață, apoi traversează încet golful liniștit.
Iarna, când gheața este groasă, nimeni nu mai așteaptă pe chei și toți
rămân în casele lor până când furtuna trece și marea se liniștește.
""",
    "Russian": """
Паром на остров каждое утро отходит от старой пристани, и рыбаки приходят туда незадолго до восхода солнца.
В базарные дни он ждёт пекаря, который привозит сто двадцать хлебов и утреннюю газету,
а потом медленно идёт через тихий залив.
Зимой, когда лёд толстый, на пристани уже никто не ждёт,
и все сидят по домам, пока буря не утихнет и море не станет прежним.
""",
    "Spanish": """
El transbordador de la isla sale cada mañana del viejo muelle,
y los pescadores llegan allí poco antes de que salga el sol.
Los días de mercado espera al panadero,
que trae ciento veinte panes y el periódico de la mañana, y después cruza despacio la bahía.
En invierno, cuando sopla el viento, ya nadie espera en el puerto,
y los niños y los mayores se quedan en casa hasta que pasa la tormenta.
""",
    "Thai": """
เรือข้ามฟากไปเกาะออกจากท่าเรือเก่าทุกเช้า และชาวประมงมาถึงก่อนพระอาทิตย์ขึ้นเล็กน้อย
ในวันที่มีตลาด เรือจะรอคนทำขนมปังซึ่งนำขนมปังหนึ่งร้อยยี่สิบก้อนกับหนังสือพิมพ์มาด้วย แล้วจึงค่อย ๆ แล่นข้ามอ่าวที่เงียบสงบ
ในฤดูหนาวเมื่อลมแรง ไม่มีใครรออยู่ที่ท่าเรืออีก ทุกคนอยู่ในบ้านจนกว่าพายุจะผ่านไปและทะเลสงบลงอีกครั้ง
""",
    "Turkish": """
Adaya giden vapur her sabah eski iskeleden kalkar, balıkçılar da güneş doğmadan biraz önce oraya gelirler.
Pazar günleri yüz yirmi ekmek ile sabah gazetesini getiren fırıncıyı bekler, sonra sessiz körfezi yavaşça geçer.
Kışın rüzgâr sert estiğinde artık iskelede kimse beklemez,
fırtına dinip deniz eski hâline dönünceye kadar herkes evinde oturur.
""",
    "Ukrainian": """
Пором на острів щоранку відходить від старої пристані, і рибалки приходять туди трохи раніше за схід сонця.
У базарні дні він чекає на пекаря, який привозить сто двадцять хлібин і ранкову газету,
а потім повільно йде через тиху затоку.
Узимку, коли крига товста, на пристані вже ніхто не чекає,
і всі сидять у своїх хатах, доки буря не вщухне й море не стане таким, як було.
""",
    "Vietnamese": """
Chuyến phà ra đảo rời bến cũ mỗi buổi sáng, và những người đánh cá đến đó trước khi mặt trời mọc một chút.
Vào những ngày họp chợ, phà đợi người thợ bánh mang theo một trăm hai
mươi ổ bánh mì và tờ báo buổi sáng, rồi chậm rãi đi qua vịnh yên tĩnh.
Mùa đông, khi gió thổi mạnh, không còn ai đợi ở bến nữa,
mọi người ở trong nhà cho đến khi cơn bão đi qua và biển lại lặng như trước.
""",
    "Welsh": """
Mae'r fferi i'r ynys yn gadael yr hen lanfa bob bore,
ac mae'r pysgotwyr yn cyrraedd ychydig cyn i'r haul godi dros y dŵr.
Ar ddiwrnodau marchnad mae'n aros am y pobydd,
sy'n dod â chant ac ugain o dorthau a'r papur newydd, ac wedyn yn croesi'r bae tawel yn araf.
Yn y gaeaf, pan fo'r gwynt yn gryf, does neb yn aros ar y lanfa mwyach,
ac mae pawb yn eu tŷ nes i'r storm fynd heibio a'r môr dawelu.
""",
}

_TONES = "[\u0300\u0301\u0303\u0309\u0323]"


def paragraphs(language: str, charset: str) -> list[str]:
    """Return the text of a language with the characters that a charset has for it."""
    text = TEXTS[language].strip()
    if charset == "cp1258":
        # It has tones alone, and no letters with them.
        text = "".join(_with_tone_apart(letter) for letter in text)
    return text.split("\n")


def _with_tone_apart(letter: str) -> str:
    parts = unicodedata.normalize("NFD", letter)
    return unicodedata.normalize("NFC", re.sub(_TONES, "", parts)) + "".join(re.findall(_TONES, parts))
