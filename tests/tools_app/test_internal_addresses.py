"""Tests that internal addresses are refused in every spelling, and public ones are not."""

from ipaddress import IPv4Address, IPv6Address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools_app.errors import AddressRefused
from tools_app.network import NetworkPolicy, check_url
from tools_app.network.addresses import is_internal

NOTHING_ALLOWED = NetworkPolicy()

INTERNAL_HOSTS = [
    # IPv4 in the usual notation
    *("127.0.0.1", "127.255.255.254", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.0.1", "0.0.0.0"),  # noqa: S104
    *("169.254.169.254", "169.254.0.1", "100.64.0.1", "100.100.100.200", "100.127.255.255", "168.63.129.16"),
    *("192.0.0.1", "192.0.0.192", "192.0.2.1", "198.18.0.1", "198.19.255.255", "198.51.100.1", "203.0.113.1"),
    *("192.88.99.1", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255", "0.1.2.3"),
    # other notations
    *("127.1", "127.0.1", "0x7f.1", "0x7f.0.0.1", "0x7f000001", "0X7F000001", "2130706433", "017700000001", "0177.1"),
    *("0177.0.0.1", "00000177.0.0.1", "0x7f.0x0.0x0.0x1", "127.0x1", "0", "0x0", "10.1", "0xa.1", "012.0.0.1"),
    *("192.168.257", "0xc0a80001", "3232235521", "2852039166", "0xa9fea9fe", "0251.0376.0251.0376", "169.16689662"),
    *("127.0.0.1.", "127.1.", "2130706433.", "169.254.169.254."),
    *(
        "１２７.0.0.1",
        "127。0。0。1",
        "127．0．0．1",
        "127｡0｡0｡1",
        "①②⑦.0.0.1",
        "１６９。２５４。１６９。２５４",
        "２１３０７０６４３３",
    ),
    # names of this machine
    *("localhost", "LOCALHOST", "localhost.", "foo.localhost", "a.b.localhost.", "ⓛⓞⓒⓐⓛⓗⓞⓢⓣ", "ｌｏｃａｌｈｏｓｔ"),
    # IPv6
    *("[::1]", "[::]", "[0:0:0:0:0:0:0:1]", "[0000:0000:0000:0000:0000:0000:0000:0001]", "[fe80::1]", "[febf::1]"),
    *("[fc00::1]", "[fd00::1]", "[fd00:ec2::254]", "[fd20:ce::254]", "[fec0::1]", "[ff02::1]", "[ff0e::1]"),
    *(
        "[100::1]",
        "[2001:db8::1]",
        "[3fff::1]",
        "[5f00::1]",
        "[2001:2::1]",
        "[2001:10::1]",
        "[2001:20::1]",
        "[4000::1]",
    ),
    # IPv4 inside IPv6: mapped, compatible, translated, NAT64 (both), 6to4, Teredo, ISATAP
    *("[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::FFFF:10.0.0.1]", "[0:0:0:0:0:ffff:a9fe:a9fe]", "[::127.0.0.1]"),
    *("[::ffff:0:127.0.0.1]", "[64:ff9b::127.0.0.1]", "[64:ff9b::a00:1]", "[64:ff9b:1::8.8.8.8]", "[2002:7f00:1::]"),
    *("[2002:a9fe:a9fe::1]", "[2001:0:7f00:1::]", "[2001::f5ff:fffe]", "[2a00::5efe:127.0.0.1]"),
    *("[2a00::200:5efe:10.0.0.1]", "[fe80::5efe:192.168.0.1]"),
]

PUBLIC_HOSTS = [
    *("8.8.8.8", "1.1.1.1", "93.184.216.34", "172.15.255.255", "172.32.0.1", "100.63.255.255", "100.128.0.1"),
    *(
        "11.0.0.1",
        "126.255.255.255",
        "128.0.0.1",
        "192.167.255.255",
        "169.253.255.255",
        "223.255.255.255",
        "198.20.0.1",
    ),
    *("134744072", "0x08080808", "010.8.8.8", "8.526344", "８.８.８.８", "8.8.8.8."),
    *("[2606:4700:4700::1111]", "[2a00:1450:4001::200e]", "[2001:4860:4860::8888]"),
    *("[::ffff:8.8.8.8]", "[64:ff9b::8.8.8.8]", "[2a00::5efe:8.8.8.8]"),
    *("example.com", "example.com.", "EXAMPLE.com", "bücher.example", "xn--bcher-kva.example", "localhost.example.com"),
    *("127.0.0.1.example.com", "notlocalhost", "a_b.example", "1e100.net", "0x7f.example"),
]


@pytest.mark.parametrize("host", INTERNAL_HOSTS)
def test_internal_host_is_refused(host: str) -> None:
    for url in (f"http://{host}/", f"https://{host}:8443/path?q=1#part", f"  HTTP://{host}  "):
        with pytest.raises(AddressRefused):
            check_url(url, NOTHING_ALLOWED)


@pytest.mark.parametrize("host", PUBLIC_HOSTS)
def test_public_host_is_allowed(host: str) -> None:
    assert check_url(f"https://{host}/path", NOTHING_ALLOWED).path == "/path"


@pytest.mark.parametrize(
    "url",
    [
        *("", " ", "example.com", "//example.com/", "/path", "http:", "http://", "http:///path", "http:example.com"),
        *("ftp://example.com/", "file:///etc/passwd", "gopher://example.com/", "ws://example.com/", "data:text/html,x"),
        *(
            "javascript:alert(1)",
            "unix:///var/run/docker.sock",
            "view-source:http://example.com/",
            "dict://example.com",
        ),
        *("http://user@example.com/", "http://user:word@example.com/", "http://:word@example.com/"),
        *("http://example.com@127.0.0.1/", "http://8.8.8.8:80@127.0.0.1/", "http://8.8.8.8\\@127.0.0.1/"),
        *("http://127.0.0.1\\@8.8.8.8/", "http://127.0.0.1#@8.8.8.8/", "http://127.0.0.1?@8.8.8.8/", "http://::1/"),
        *(
            "http://[::1]@/",
            "http://[fe80::1%25eth0]/",
            "http://[fe80::1%eth0]/",
            "http://[2606:4700::1%25eth0]/",
            "http://[::1/",
        ),
        *("http://%31%32%37.0.0.1/", "http://127.0.0.1%00.example.com/", "http://exam ple.com/", "http:// 127.0.0.1/"),
        *("http://8.8.8.8 127.0.0.1/", "http://127.0.0.1\t/", "http://127.0.\n0.1/", "http://12\r7.0.0.1/"),
        *("http://example.com:99999/", "http://example.com:port/", "http://example.com:-1/", "http://127.0.0.1:80:80/"),
    ],
)
def test_other_urls_than_plain_http_are_refused(url: str) -> None:
    with pytest.raises(AddressRefused):
        check_url(url, NOTHING_ALLOWED)


@given(st.text() | st.text("0123456789abcdefx.:[]@/%\\#?。ⓛ-_ ").map("http://{}".format))
def test_any_text_raises_only_address_refused(text: str) -> None:
    try:
        url = check_url(text, NOTHING_ALLOWED)
    except AddressRefused:
        return
    assert url.scheme in ("http", "https")
    assert url.raw_host


def spellings(address: IPv4Address) -> list[str]:
    number = int(address)
    a, b, c, d = address.packed
    dotted = str(address)
    return [
        f"{number}",
        f"{number:#x}",
        f"0{number:o}",
        f"{a}.{number & 0xFFFFFF}",
        f"{a}.{b}.{number & 0xFFFF}",
        f"{a:#x}.{b:#x}.{c:#x}.{d:#x}",
        f"0{a:o}.0{b:o}.0{c:o}.0{d:o}",
        f"{a:#x}.0{b:o}.{number & 0xFFFF}",
        f"{dotted}.",
        dotted.translate({ord("0") + n: ord("０") + n for n in range(10)}),
        dotted.replace(".", "。"),
        f"[::ffff:{dotted}]",
        f"[::ffff:{a:02x}{b:02x}:{c:02x}{d:02x}]",
        f"[64:ff9b::{dotted}]",
    ]


def refused(host: str) -> bool:
    try:
        check_url(f"http://{host}/", NOTHING_ALLOWED)
    except AddressRefused:
        return True
    return False


_addresses = st.integers(0, 2**32 - 1) | st.sampled_from([10 << 24, 127 << 24, 0xC0A80000, 0xA9FE0000]).flatmap(
    lambda start: st.integers(start, start + 0xFFFF)
)


@given(_addresses.map(IPv4Address))
def test_all_spellings_of_an_address_are_judged_the_same(address: IPv4Address) -> None:
    assert {refused(spelling) for spelling in spellings(address)} == {is_internal(address)}


@given(_addresses.map(IPv4Address) | st.integers(0, 2**128 - 1).map(IPv6Address))
def test_addresses_that_python_calls_private_are_refused(address: IPv4Address | IPv6Address) -> None:
    if not address.is_global or address.is_multicast or address.is_reserved:
        embedding = isinstance(address, IPv6Address) and int(address) >> 32 == 0x64FF9B << 64
        assert is_internal(address) or embedding


@pytest.mark.parametrize(
    ("entry", "url"),
    [
        ("127.0.0.1:9300", "http://127.0.0.1:9300/"),
        ("127.0.0.1:9300", "http://127.1:9300/"),
        ("127.0.0.1:9300", "http://localhost:9300/"),
        ("127.0.0.1:9300", "http://[::ffff:127.0.0.1]:9300/"),
        ("127.0.0.1:80", "http://127.0.0.1/"),
        ("127.0.0.1:443", "https://127.0.0.1/"),
        ("10.0.0.5", "http://10.0.0.5:8080/"),
        ("localhost:9300", "http://127.0.0.1:9300/"),
        ("[::1]:9300", "http://[0:0:0:0:0:0:0:1]:9300/"),
        ("[fd00::1]", "http://[fd00::1]/"),
    ],
)
def test_administrator_can_allow_an_internal_host(entry: str, url: str) -> None:
    check_url(url, NetworkPolicy(allow_internal=frozenset({entry})))


@pytest.mark.parametrize(
    "url",
    [
        *("http://127.0.0.1:9301/", "http://127.0.0.1/", "https://127.0.0.1/", "http://127.0.0.2:9300/"),
        *("http://[::1]:9300/", "http://127.0.0.1:9300@10.0.0.1/", "http://10.0.0.1:9300/"),
    ],
)
def test_allowed_host_allows_no_other(url: str) -> None:
    with pytest.raises(AddressRefused):
        check_url(url, NetworkPolicy(allow_internal=frozenset({"127.0.0.1:9300"})))


@pytest.mark.parametrize(
    "entry", ["", "10.0.0.0/8", "http://10.0.0.1", "*.corp", "::1", "host:", "host:x", "a b", "u@h"]
)
def test_policy_with_an_invalid_entry_is_refused(entry: str) -> None:
    with pytest.raises(ValueError, match="neither a host"):
        NetworkPolicy(allow_internal=frozenset({entry}))
