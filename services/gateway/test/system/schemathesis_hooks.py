"""What schemathesis cannot know from the OpenAPI document: ids and credentials of the running system, and refusals that no schema can express.

schemathesis.test.ts names this file, and a file of ids, in the environment.
"""

import json
import os
import re
import uuid
import zlib
from datetime import datetime, timezone

import schemathesis

with open(os.environ["SCHEMATHESIS_IDS"], encoding="utf-8") as file:
    IDS = json.load(file)

# Cursors that lists have answered with, and the list (path and filters) that each continues.
CURSORS: dict[str, str] = {}
# The role of each user that an answer has named, the last one. Users of the file of ids are members.
ROLES = {ids["user_id"]: "member" for ids in IDS.values() if isinstance(ids.get("user_id"), str)}

MADE = {value for ids in IDS.values() for value in ids.values() if isinstance(value, str)}
MEMBER_SCOPES = {"agents:read", "agents:write", "agents:chat", "templates:read", "credits:read"}


def body_of(case):
    return case.body if isinstance(case.body, dict) else {}


def texts_of(value):
    """Every text of a JSON value, the names of fields included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield name
            yield from texts_of(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from texts_of(inner)


def depth_of(value):
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if inner is None else 1 + max((depth_of(one) for one in inner), default=0)


def has_large_integer(value):
    if isinstance(value, (dict, list)):
        return any(has_large_integer(one) for one in (value.values() if isinstance(value, dict) else value))
    return isinstance(value, (int, float)) and abs(value) > 2**53 - 1


def is_plain_text(text):
    return "\0" not in text and not re.search("[\ud800-\udfff]", text)


def has_unusual_context(case, error):
    """NUL, half of a surrogate pair, a name that JavaScript reserves, a whole number that would be rounded, more than 5 levels, more than 16 KiB.

    `context` may hold any other JSON."""
    context = body_of(case).get("context")
    texts = list(texts_of(context))
    is_odd = "__proto__" in texts or not all(is_plain_text(text) for text in texts) or has_large_integer(context)
    # JavaScript writes numbers in other forms than Python, so the bound of bytes is not an exact one here.
    return is_odd or depth_of(context) > 5 or len(json.dumps(context, ensure_ascii=False).encode()) > 12 * 1024


ASCII_NAME = r'(?:[A-Za-z_][A-Za-z0-9_$]*|"(?:[^"]|"")+")'


def has_unusual_table(case, error):
    """Letters beyond ASCII, since expressions do not know which are letters; names of more than 63 bytes; a column twice."""
    scope = body_of(case).get("data_scope") or body_of(case).get("overrides", {}).get("data_scope") or {}
    entry = scope["tables"][int(re.search(r"\[(\d+)\]$", error["param"]).group(1))]
    outside_quotes = re.sub(r'"(?:[^"]|"")+"', "", entry)
    names = re.findall(ASCII_NAME, entry)
    columns = [name if name.startswith('"') else f'"{name.lower()}"' for name in re.findall(ASCII_NAME, entry.partition("(")[2])]
    return not outside_quotes.isascii() or any(len(name.strip('"').encode()) > 63 for name in names) or len(columns) != len(set(columns))


PUBLIC_URL = re.compile(r"https://(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+(?:com|net|org)(?::[1-9][0-9]{0,3})?(?:[/?][!-~]*)?", re.IGNORECASE)


def has_unusual_host(case, error):
    """A host is reached only if the DNS can hold its name and it is public."""
    return not PUBLIC_URL.fullmatch(body_of(case)["url"])


def instant_of(text):
    time = datetime.fromisoformat(re.sub(r"([.]\d{6})\d+", r"\1", text))
    return time if time.tzinfo else time.replace(tzinfo=timezone.utc)


def has_impossible_range(case, error):
    """The end, which is today where it is not given, lies before the beginning, or groups are wanted for more than 366 days."""
    query = case.query
    begin, end = (instant_of(query[name]) if name in query else None for name in ("date_from", "date_to"))
    if begin is None:
        return "group_by" in query and end is not None and end < begin_of_month()
    end = end or datetime.now(timezone.utc)
    return begin > end or ("group_by" in query and (end - begin).days >= 365)


def begin_of_month():
    return datetime.now(timezone.utc).replace(day=1, hour=0, minute=0, second=0, microsecond=0)


def excludes_scopes(case, error):
    """Members hold some scopes only; a schema does not know whose key is made."""
    excluded = set(error["message"].partition(": ")[2].replace(",", " ").split())
    return bool(excluded) and not excluded & MEMBER_SCOPES and excluded <= set(body_of(case).get("scopes", excluded))


def list_of(case):
    """The list that a cursor belongs to. The size of a page is no part of it."""
    filters = {name: value for name, value in (case.query or {}).items() if name not in ("cursor", "limit")}
    return f"{case.formatted_path} {json.dumps(filters, sort_keys=True)}"


def has_foreign_cursor(case, error):
    """Cursors are made by the service and bound to tenant and filters: it refuses all but those that it made for this list."""
    return CURSORS.get(case.query["cursor"]) != list_of(case)


def makes_member_administrator(case, error):
    """Only the key of an administrator can be an administrator key, which is the role of the caller, and not of every user."""
    return body_of(case).get("admin") is True and ROLES.get(body_of(case).get("user_id")) == "member"


def has_empty_tag(case, error):
    """The document demands a character: the coverage phase takes the empty header over from an invalid request of its own."""
    return case.headers[error["param"]] == ""


# Refusals of schema-valid requests by status, code and field (None: whatever it names), each with what must be true of the request.
REFUSALS = {
    (400, "invalid_cursor", "cursor"): has_foreign_cursor,
    (422, "idempotency_key_reused", None): lambda case, error: "Idempotency-Key" in case.headers,
    (412, "precondition_failed", None): lambda case, error: case.headers.get("If-Match", "*") != "*",
    (400, "invalid_request", "url"): has_unusual_host,
    (400, "invalid_request", "admin"): makes_member_administrator,
    (400, "invalid_scope", "scopes"): excludes_scopes,
    (400, "invalid_request", "data_scope.tables"): has_unusual_table,
    (400, "invalid_request", "date_from"): has_impossible_range,
    (400, "invalid_request", "date_to"): has_impossible_range,
    (400, "invalid_request", "context"): has_unusual_context,
    # An event's id continues a stream only beside the key of the request whose stream it was.
    (400, "invalid_request", "If-Match"): has_empty_tag,
    (400, "invalid_request", "If-None-Match"): has_empty_tag,
    (400, "invalid_request", "Last-Event-ID"): lambda case, error: "Idempotency-Key" not in case.headers,
}


def is_positive(case, location):
    component = case.meta.components.get(location) if case.meta else None
    return component is None or component.mode.is_positive


@schemathesis.hook
def before_load_schema(context, raw_schema):
    """OpenAPI 3.2 has the word `itemSchema` for the events of a stream, where `schema` is that of their list; 3.1 has one text, and no word for an event."""
    for item in raw_schema["paths"].values():
        for operation in item.values():
            for response in operation["responses"].values():
                for media in response.get("content", {}).values():
                    if "x-itemSchema" in media:
                        media["itemSchema"] = media.pop("x-itemSchema")
                        del media["schema"]


@schemathesis.hook
def before_call(context, case, kwargs):
    """Names resources that exist in three of four requests, deterministically by the value that was generated."""
    for name, value in list((case.path_parameters or {}).items()):
        known = IDS.get(case.method, {}).get(name) or IDS["GET"].get(name)
        text = str(value)
        if not known or text in MADE:
            continue
        # An id that schemathesis has read somewhere may be that of the credential or user in use.
        exists = case.method != "GET" and text.startswith(("key_", "app_", "usr_"))
        if exists or (is_positive(case, "path") and zlib.crc32(text.encode("utf-8", "replace")) % 4):
            case.path_parameters[name] = known
    continue_list(case)
    if isinstance(case.body, dict):
        for name, value in IDS["credentials"].items():
            if case.body.get(name) == value["example"]:
                case.body[name] = value["own"]
    # A key that comes twice would only be refused, so short ones get a new one.
    if case.headers and is_positive(case, "header") and len(case.headers.get("Idempotency-Key", "x" * 9)) < 9:
        case.headers["Idempotency-Key"] = str(uuid.uuid4())


def continue_list(case):
    """Replaces half of the cursors by one that the same path has answered with, beside the filters of that list, which must be accepted."""
    if not case.query or "cursor" not in case.query or not is_positive(case, "query") or zlib.crc32(str(case.query["cursor"]).encode()) % 2:
        return
    for cursor, listed in list(CURSORS.items()):
        path, filters = listed.split(" ", 1)
        if path == case.formatted_path:
            case.query = {**json.loads(filters), "cursor": cursor}
            return


@schemathesis.hook
def after_call(context, case, response):
    """Remembers what an answer shows: the cursor of the next page, and the roles of users."""
    try:
        answer = json.loads(response.content)
        data, meta = answer.get("data"), answer.get("meta") or {}
    except (ValueError, AttributeError):
        return
    if case.method == "GET" and response.status_code == 200 and meta.get("next_cursor"):
        CURSORS[meta["next_cursor"]] = list_of(case)
    for entry in data if isinstance(data, list) else [data]:
        if isinstance(entry, dict) and str(entry.get("id")).startswith("usr_") and "role" in entry:
            ROLES[entry["id"]] = entry["role"]


@schemathesis.hook
def filter_failure(context, failure, case, response):
    """Drops only these refusals of valid data, and only where the request gives cause for them; every other check of the answer stays."""
    if type(failure).__name__ != "RejectedPositiveData":
        return True
    try:
        error = json.loads(response.content)["error"]
        field = (error["param"] or "").split("[")[0]
    except (ValueError, KeyError, TypeError):
        return True
    # A refusal may name a field inside of the one in the document, as context.page.
    fields = (field, field.split(".")[0], None)
    given = next(filter(None, (REFUSALS.get((response.status_code, error["code"], name)) for name in fields)), None)
    return not (given and given(case, error))
