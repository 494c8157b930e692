"""What a file that is shared must not tell: whose machine it was. The unit of a model is told apart by a hash alone."""

import getpass
import platform
import re
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

# 48 bits: two units of one fleet never share a hash in practice, and a random UUID cannot be found back from it.
HASH_DIGITS = 12
UNIT_HASH = re.compile(rf"sha256:[0-9a-f]{{{HASH_DIGITS}}}")
UUID = re.compile(r"(?:GPU-|MIG-)?\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b")
# Names that every machine has tell nothing, and stand in ordinary sentences.
COMMON_NAMES = frozenset({"", "root", "localhost"})
# Keys of an environment that would tell it; they stay out of files.
TELLING = frozenset(
    {"host", "hostname", "node", "user", "username", "login", "home", "uuid", "serial", "serial_number", "mac_address"}
)


def unit_hash(unit_id: str) -> str:
    """The short hash by which a file tells one unit of a model from another; the same for the same unit everywhere.

    An unknown unit (empty) stays unknown, and a hash stays itself.
    """
    if not unit_id or UNIT_HASH.fullmatch(unit_id):
        return unit_id
    return f"sha256:{sha256(unit_id.encode()).hexdigest()[:HASH_DIGITS]}"


@dataclass(frozen=True)
class Names:
    """What this machine and its user are called, to be taken out of texts; empty is unknown."""

    host: str = ""
    user: str = ""
    home: str = ""

    @classmethod
    def here(cls) -> "Names":
        """The names of this machine and of whoever runs this."""
        return cls(platform.node(), _user(), _home())

    def out_of(self, text: str) -> str:
        """A sentence without these names and without UUIDs."""
        text = UUID.sub("<uuid>", self.home_out_of(text))
        for name, sign in ((self.host, "<host>"), (self.host.partition(".")[0], "<host>"), (self.user, "<user>")):
            if name not in COMMON_NAMES:
                text = re.sub(rf"(?<![\w-]){re.escape(name)}(?![\w-])", sign, text)
        return text

    def home_out_of(self, value: Any) -> Any:
        """A document in which the home folder, wherever it stands in a text, is `~`."""
        if isinstance(value, dict):
            return {key: self.home_out_of(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self.home_out_of(item) for item in value]
        home = self.home.rstrip("/")
        if not isinstance(value, str) or not home:
            return value
        return re.sub(rf"{re.escape(home)}(?![\w.-])", "~", value)


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a user id without a name, as containers give
        return ""


def _home() -> str:
    try:
        return str(Path.home())
    except RuntimeError:  # no home folder can be found
        return ""
