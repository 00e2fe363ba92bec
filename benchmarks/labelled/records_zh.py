"""Records of the Chinese templates."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random

from benchmarks.labelled.records_data import Record, WorldData, products, records_in

_PRODUCTS = {
    "电热水壶": ("容量一点七升，水开后自动断电，壶口宽大便于清洗。", "不锈钢"),
    "双肩背包": ("设有独立电脑隔层，肩带加厚，适合通勤与短途旅行。", "涤纶"),
    "护眼台灯": ("亮度可以无级调节，灯臂可向三个方向转动。", "铝合金"),
    "空气炸锅": ("四点五升大容量，带有定时功能，不粘涂层易清洁。", "塑料"),
    "无线鼠标": ("三档灵敏度可调，一节电池可使用一年。", "塑料"),
}
_BRANDS = ["北辰", "乐居", "清和"]
_WORKS = [("中学教学楼改造工程", "建筑面积{n}平方米"), ("道路绿化养护项目", "养护面积{n}平方米"),
    ("污水管网改造工程", "新建管道{n}米"), ("智慧停车场建设项目", "新增停车位{n}个")]  # fmt: skip


def _products(data: WorldData, random: Random) -> Iterator[Record]:
    colours = data.words("zh", "text")["color"]
    for record, size in products(_PRODUCTS, _BRANDS, colours, letters="AHKTX", sizes=range(8, 60), random=random):
        yield record | {
            "series": f"{record['brand']}{record['product']}",
            "size": "×".join(map(str, size)),
            "weight": f"{random.uniform(0.2, 6):.1f}",
            "price": random.randint(39, 499),
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


def _leaflets(data: WorldData, random: Random) -> Iterator[Record]:
    for record in records_in("zh-leaflet", "name", "strength", "use", "dose", "contra", "effect", "look"):
        numbers = {"pack": random.choice([10, 12, 20, 24, 30]), "months": random.choice([24, 36])}
        yield record | numbers


CHINESE: dict[str, Callable[[WorldData, Random], Iterator[Record]]] = {
    "zh-product": _products,
    "zh-tender": _tenders,
    "zh-leaflet": _leaflets,
}
"""Makers of records by template."""
