import re


class FactStore:
    """Keeps one record per person with the current home, in its own words."""

    fault = ""

    def __init__(self):
        self.homes, self.log = {}, []

    def add(self, text, *, role, at, session, user):
        told = re.search(r"(\w+) (?:lives in|has moved to) (\w+)", text)
        if told and not (self.fault == "never updates" and told[1] in self.homes):
            what = "changed" if told[1] in self.homes else "added"
            self.homes[told[1]] = f"{told[1]}'s home: {told[2]}"
            self.log.append((what, told[1], self.homes[told[1]]))

    def written(self):
        log, self.log = self.log, []
        return log

    def delete(self, key):
        del self.homes[key]
        self.log.append(("deleted", key, None))

    def search(self, query, *, k):
        return [
            (name, text, None, None)
            for name, text in self.homes.items()
            if name in query
        ][:k]

    def reset(self):
        self.__init__()


class Stubborn(FactStore):
    fault = "never updates"
