"""Records of the Chinese templates."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random

from babel import Locale

from benchmarks.labelled.records_data import Record, WorldData, products, records_in

_PRODUCTS = {
    "电热水壶": ("容量一点七升，水开后自动断电，壶口宽大便于清洗。", "不锈钢"),
    "双肩背包": ("设有独立电脑隔层，肩带加厚，适合通勤与短途旅行。", "涤纶"),
    "护眼台灯": ("亮度可以无级调节，灯臂可向三个方向转动。", "铝合金"),
    "空气炸锅": ("四点五升大容量，带有定时功能，不粘涂层易清洁。", "塑料"),
    "无线鼠标": ("三档灵敏度可调，一节电池可使用一年。", "塑料"),
}
_BRANDS = ["北辰", "乐居", "清和", "远山"]
_COURSES = {
    "数学学院": ["线性代数", "数学分析", "概率论", "拓扑学", "数值计算"],
    "历史学院": ["中国古代史", "世界近代史", "史学理论", "考古学通论", "中国近代史"],
    "生命科学学院": ["遗传学", "生态学", "细胞生物学", "植物生理学", "微生物学"],
    "经济学院": ["微观经济学", "宏观经济学", "计量经济学", "国际贸易", "博弈论"],
}
_ABOUT = [
    "课程以课堂讲授为主，辅以小组讨论。",
    "课程强调理论与实践相结合，安排四次上机实验。",
    "课程面向二年级本科生，采用中英文双语教学。",
    "课程包含一次校外参观和一篇课程论文。",
]
_WORKS = [("中学教学楼改造工程", "建筑面积{n}平方米"), ("道路绿化养护项目", "养护面积{n}平方米"),
    ("污水管网改造工程", "新建管道{n}米"), ("智慧停车场建设项目", "新增停车位{n}个")]  # fmt: skip
_WEATHER = {
    "暴雨": "预计未来{hours}小时{area}等地降雨量将达{amount}毫米以上，局地伴有雷电和短时大风，低洼路段可能出现积水。",
    "大风": "预计未来{hours}小时{area}等地将出现{gale}级以上阵风，请注意防范高空坠物。",
    "大雾": "预计未来{hours}小时{area}等地能见度将小于{metres}米，对交通有较大影响。",
    "高温": "预计未来{hours}小时{area}等地最高气温将升至{heat}摄氏度以上，请注意防暑降温。",
    "寒潮": "预计未来{hours}小时{area}等地最低气温将下降{fall}摄氏度以上，请做好防寒保暖工作。",
}
_HOTELS = ["悦来酒店", "如意宾馆", "锦华大酒店", "云栖酒店", "城市便捷酒店", "和平饭店", "四季春宾馆", "星程酒店"]
_SIGHTS = ["火车站", "人民广场", "体育中心", "机场", "博物馆", "大学城", "会展中心"]
_CONTINENTS = {"EU": "欧洲", "AS": "亚洲", "AF": "非洲", "NA": "北美洲", "SA": "南美洲", "OC": "大洋洲"}


def _products(data: WorldData, random: Random) -> Iterator[Record]:
    colours = data.words("zh", "text")["color"]
    for record, size in products(_PRODUCTS, _BRANDS[:3], colours, letters="AHKTX", sizes=range(8, 60), random=random):
        yield record | {
            "series": f"{record['brand']}{record['product']}",
            "size": "×".join(map(str, size)),
            "weight": f"{random.uniform(0.2, 6):.1f}",
            "price": random.randint(39, 499),
        }


def _courses(data: WorldData, random: Random) -> Iterator[Record]:
    universities = data.words("zh", "person")["university"][:2]
    for university in universities:
        for department, courses in _COURSES.items():
            for at, course in enumerate(courses[:4]):
                yield {
                    "university": university,
                    "department": department,
                    "course": course,
                    "code": f"{random.randint(10_000, 99_999)}",
                    "credits": random.choice([2, 3, 4]),
                    "hours": random.choice([32, 48, 64]),
                    "about": random.choice(_ABOUT),
                    "teacher": data.person("zh", random),
                    "time": f"星期{random.choice('一二三四五')}第{random.randint(1, 5)}节",
                    "room": f"第{random.choice('一二三四')}教学楼{random.randint(101, 520)}室",
                    "before": courses[at - 1] if at else "无",
                }


def _countries(data: WorldData, random: Random) -> Iterator[Record]:
    chinese = Locale("zh")
    known = [
        each for each in data.countries.values() if each["continentcode"] in _CONTINENTS and each["population"] > 3e5
    ]
    # States that are no more have no Chinese name.
    for each in filter(lambda each: each["iso"] in chinese.territories, known[::5]):
        languages = [chinese.languages.get(code.partition("-")[0], "") for code in each["languages"].split(",")[:3]]
        neighbours = [chinese.territories.get(code, code) for code in each["neighbours"].split(",") if code]
        yield {
            "name": chinese.territories[each["iso"]],
            "continent": _CONTINENTS[each["continentcode"]],
            "area": each["areakm2"],
            "people": each["population"],
            "capital": each["capital"],
            "currency": chinese.currencies.get(each["currencycode"], each["currencyname"]),
            "code": each["currencycode"],
            "languages": "、".join(filter(None, languages)) or "英语",
            "phone": each["phone"].strip("+"),
            "tld": each["tld"],
            "neighbours": f"邻国有{'、'.join(neighbours)}。" if neighbours else "该国没有陆地邻国。",
        }


def _tenders(data: WorldData, random: Random) -> Iterator[Record]:
    cities = data.cities("zh")
    for at in range(32):
        work, amount = _WORKS[at % len(_WORKS)]
        city = random.choice(cities)
        yield {
            "city": city,
            "work": work,
            "amount": amount.format(n=random.randrange(100, 9_000, 10)),
            "number": f"ZB2024{random.randint(1_000, 9_999)}",
            "owner": f"{city}{random.choice(['住房和城乡建设局', '教育局', '城市管理局', '交通投资有限公司'])}",
            "street": f"{random.choice(data.streets('zh'))}路{random.randint(1, 300)}号",
            "money": random.randrange(80, 9_000),
            "days": random.randrange(60, 500, 10),
            "deadline": f"2024年{random.randint(3, 11)}月{random.randint(1, 28)}日{random.randint(9, 15)}时",
            "person": data.person("zh", random),
            "phone": f"0{random.randint(310, 999)}-{random.randint(2_000_000, 8_999_999)}",
        }


def _warnings(data: WorldData, random: Random) -> Iterator[Record]:
    levels = ["蓝色", "黄色", "橙色", "红色"]
    for city in random.sample(data.cities("zh"), 16):
        kind, level, hour = random.choice(sorted(_WEATHER)), random.randrange(3), random.randint(5, 11)
        areas, day = random.sample(data.streets("zh"), 5), random.randint(1, 28)
        for number in range(2):
            forecast = _WEATHER[kind].format(
                hours=random.choice([3, 6, 12, 24]),
                area="、".join(random.sample(areas, 3)),
                amount=random.choice([30, 50, 70, 100]),
                gale=random.randint(7, 10),
                metres=random.choice([200, 500]),
                heat=random.randint(35, 40),
                fall=random.randint(6, 12),
            )
            yield {
                "series": f"{city}{kind}",
                "city": city,
                "kind": kind,
                "level": levels[level + number],
                "time": f"{day}日{hour + 6 * number}时{random.randint(10, 59)}分",
                "forecast": forecast,
            }


def _hotels(data: WorldData, random: Random) -> Iterator[Record]:
    for city in random.sample(data.cities("zh"), 16):
        for sight in random.sample(_SIGHTS, 2):
            low = random.randint(89, 299)
            yield {
                "city": city,
                "place": sight,
                "count": random.randint(5, 60),
                "low": low,
                "average": low + random.randint(40, 300),
                "picks": [
                    f"{city}{hotel}：距{sight}{random.uniform(0.2, 5):.1f}公里，"
                    f"评分{random.uniform(3.8, 5):.1f}，{low + random.randint(0, 200)}元起。"
                    for hotel in random.sample(_HOTELS, 3)
                ],
            }


def _leaflets(data: WorldData, random: Random) -> Iterator[Record]:
    for record in records_in("zh-leaflet", "name", "strength", "use", "dose", "contra", "effect", "look"):
        numbers = {"pack": random.choice([10, 12, 20, 24, 30]), "months": random.choice([24, 36])}
        yield record | numbers


CHINESE: dict[str, Callable[[WorldData, Random], Iterator[Record]]] = {
    "zh-product": _products,
    "zh-course": _courses,
    "zh-country": _countries,
    "zh-tender": _tenders,
    "zh-weather": _warnings,
    "zh-hotel": _hotels,
    "zh-leaflet": _leaflets,
}
"""Makers of records by template."""
