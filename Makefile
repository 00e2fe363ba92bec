# make crawl                           crawl the bundled demo site
# make crawl URL=https://example.com   crawl a site
# make continue                        go on with a crawl that was interrupted, the last one
# make cluster PARTS=4                 crawl the demo site, or URL=..., in parts, on a PostgreSQL of its own; write cluster.html
# make test                            run the tests
# make test-all                        those too that take long: kills, Spark, a second database; laws with more examples
# make test-fast                       those that start no process, crawl or server, and take no seconds
# make check                           lint and types, and what the documentation says
# make docs                            build the site of the documentation, in site/; a dead link is an error
# make test-lowest                     the library's tests on the lowest versions that it allows, Scrapy 2.14 among them
# make dist                            build wheel and sdist, check them, and try the wheel with each extra: ten minutes
# make bench                           measure the main figures of the documentation
# make bench DATA=DIR                  those on labelled documents too
# make bench NAME=signatures           one of them
# make help                            show this list
# ARGS="..." adds arguments to any of them

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
ARGS ?=
PARTS ?= 4
# Not ?=: some systems have a variable NAME of their own.
NAME := all

# ULR=... would crawl the demo site.
GIVEN := $(foreach name,$(.VARIABLES),$(if $(findstring command,$(origin $(name))),$(name)))
UNKNOWN := $(filter-out URL ARGS PARTS NAME DATA PYTHON VENV BIN SHELL MAKE%,$(GIVEN))
ifneq ($(strip $(UNKNOWN)),)
$(error $(UNKNOWN): no such variable; known are URL, ARGS, PARTS, NAME, DATA and PYTHON, see `make help`)
endif

.PHONY: help crawl continue cluster test test-all test-fast test-lowest check docs dist bench clean

ifdef URL
crawl: $(VENV)/crawl
	@$(BIN)/scrapy crawl site -L WARNING -a "url=$(URL)" $(ARGS)
else
crawl: $(VENV)/crawl
	@$(BIN)/python -m crawler.demo crawl $(ARGS)
endif

help:
	@sed -n '/^# make/,/^# ARGS/s/^# //p' Makefile

continue: $(VENV)/crawl
	@$(BIN)/python -m crawler.demo continue $(ARGS)

cluster: $(VENV)/cluster
	@$(BIN)/python -m crawler.cluster --parts $(PARTS) $(if $(URL),--url "$(URL)") $(ARGS)

# Else a command that a test starts would compile all of its modules anew.
test test-all test-fast: export PYTHONDONTWRITEBYTECODE =

# Many tests wait for a server or a clock: with as many workers as cores these would stand idle.
test test-all: TESTERS := $(shell expr $$(getconf _NPROCESSORS_ONLN) + 2)
test: CHOSEN := -m "not thorough" --durations=25
test-all: CHOSEN := --hypothesis-profile=thorough

test: $(VENV)/dev
test-all: $(VENV)/thorough

test test-all:
	$(BIN)/python -m pytest -n $(TESTERS) --dist loadscope $(CHOSEN) $(ARGS)

test-fast: $(VENV)/dev
	$(BIN)/python -m pytest -n auto --dist loadscope -m "not slow" $(ARGS)

check: $(VENV)/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m tests.docs.check

docs: $(VENV)/docs
	$(BIN)/python -m tests.docs.check
	$(BIN)/python docs/build_site.py
	@echo "open $(CURDIR)/site/index.html in a browser"

# Those of the crawler need the Scrapy that is pinned, and are skipped; with Spark it would take too long.
test-lowest: $(VENV)/release
	$(PYTHON) -m venv $(VENV)-lowest
	$(BIN)/uv pip install --quiet --python $(VENV)-lowest --resolution lowest-direct \
		-e '.[scrapy,postgresql,cluster,corpus,remote,javascript]' \
		$$(grep -hE '^(aiohttp|hypothesis|psutil|pydantic|pytest|pytest-xdist)==' requirements/*.txt | sort -u)
	$(VENV)-lowest/bin/python -m pytest -n auto --dist loadscope -m "not thorough" \
		tests/cli tests/corpus tests/keys tests/projects tests/report tests/rules tests/signature tests/stage tests/store tests/workers $(ARGS)

dist: $(VENV)/release
	rm -rf dist
	$(BIN)/uv build --quiet
	$(BIN)/twine check --strict dist/*
	$(BIN)/python -m tests.docs.try_wheel dist

bench: $(VENV)/bench
	$(BIN)/python -m benchmarks $(NAME) $(if $(DATA),--data "$(DATA)") $(ARGS)

$(VENV)/bin/python:
	@$(PYTHON) -m venv $(VENV)

$(VENV)/crawl: requirements/crawl.txt pyproject.toml setup.py build_backend.py $(wildcard dedup/native/*) | $(VENV)/bin/python
	@echo "installing Scrapy, trafilatura and what they need into $(VENV): 77 packages, 380 MB, a minute or two, once"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements/crawl.txt
	@zig=$$($(BIN)/python build_backend.py) && if [ -n "$$zig" ]; then \
		echo "there is no C compiler: installing that of zig into $(VENV), 100 MB, once"; \
		$(BIN)/python -m pip install --quiet --disable-pip-version-check $$zig; fi
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps -e .
	@touch $@

$(VENV)/cluster: requirements/cluster.txt $(VENV)/crawl
	@echo "installing PostgreSQL into $(VENV): some seconds, once"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements/cluster.txt
	@touch $@

$(VENV)/spark: requirements/spark.txt requirements/corpus.txt $(VENV)/crawl
	@echo "installing Spark and Java into $(VENV): 600 MB, two or three minutes, once"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements/spark.txt
	@touch $@

$(VENV)/dev: requirements/dev.txt requirements/cluster.txt requirements/corpus.txt $(VENV)/crawl
	@echo "installing what tests and checks need into $(VENV): half a minute, once"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements/dev.txt
	@touch $@

$(VENV)/docs: requirements/docs.txt $(VENV)/dev
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements/docs.txt
	@touch $@

$(VENV)/thorough: requirements/archives.txt $(VENV)/docs
	@echo "installing readers of web archives into $(VENV)/archives: half a minute, once"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --upgrade --target $(VENV)/archives \
		-r requirements/archives.txt || echo "readers of web archives cannot be installed here: their tests are skipped"
	@$(MAKE) --no-print-directory $(VENV)/spark || echo "Spark cannot be installed here: its tests are skipped"
	@touch $@

$(VENV)/release: requirements/release.txt $(VENV)/dev
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements/release.txt
	@touch $@

$(VENV)/bench: requirements/bench.txt $(VENV)/dev
	@echo "installing what is measured beside this project into $(VENV): a minute, once"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements/bench.txt
	@touch $@

clean:
	rm -rf $(VENV)
