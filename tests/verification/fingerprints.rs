//! Fingerprints: the same for one error at another line, in another folder or run, and different for different errors.

use proptest::prelude::*;
use rstest::rstest;
use superstep::findings::{FindingKind, Fingerprint, Identity, Normalizer};

fn normalizer() -> Normalizer {
    Normalizer::new(["/home/ada/tides/", "/home/ada/.superstep/worktrees/run-1", "/tmp/tmp.8fQzKw1Xyz"])
}

fn of(text: &str) -> Fingerprint {
    let identity = Identity { verifier: "build", kind: &FindingKind::BuildFail, file: None, code: None, text };
    Fingerprint::of(&identity, &normalizer())
}

#[rstest]
#[case::path("in /home/ada/tides/src/a.rs", "in src/a.rs")]
#[case::worktree("/home/ada/.superstep/worktrees/run-1/src/a.rs:3:5", "src/a.rs")]
#[case::worktree_quoted("open('/home/ada/.superstep/worktrees/run-1/x')", "open(\"x\")")]
#[case::root_alone("in /home/ada/tides", "in .")]
#[case::root_of_another("/home/ada/tides-2/a.rs", "/home/ada/tides-2/a.rs")]
#[case::root_inside("/mnt/home/ada/tides/a.rs", "/mnt/home/ada/tides/a.rs")]
#[case::address_of_a_file("file:///home/ada/tides/a.rs:3", "a.rs")]
#[case::option("-I/home/ada/tides/include --path=/home/ada/tides/a", "-I/home/ada/tides/include --path=a")]
#[case::position("src/a.rs:12:5: error", "src/a.rs: error")]
#[case::range("src/a.rs:12:5-14:2 x", "src/a.rs x")]
#[case::position_in_brackets("src/a.ts(12,5): x", "src/a.ts(#,#): x")]
#[case::temporary("/tmp/ccXq12Zz.o: no", "<tmp>: no")]
#[case::temporary_folder("/tmp/other/src/a.rs: no", "<tmp>/src/a.rs: no")]
#[case::temporary_counted("/tmp/pytest-of-ada/pytest-12/x0/log", "<tmp>/pytest-#/x0/log")]
#[case::temporary_of_a_mac("/var/folders/zz/x1/T/tmpab12/a", "<tmp>/a")]
#[case::temporary_name("target/.tmpAb12Cd/a", "target/<tmp>/a")]
#[case::temporary_name_of_python("out/tmpk3_x9q1z/a", "out/<tmp>/a")]
#[case::folder_with_a_hash("target/debug/deps/tides-d2f2cdd8e7e8d933", "target/debug/deps/tides-#")]
#[case::numbers_in_paths_stay("migrations/2/up.sql", "migrations/2/up.sql")]
#[case::no_path("3/5 passed", "#/# passed")]
#[case::address("http://localhost:45123/a", "http://localhost:#/a")]
#[case::numbers("expected 2, got 13 of 1_000 or 1,000 and 1.5", "expected #, got # of # or # and #")]
#[case::negative("left: -1, right: 2", "left: #, right: #")]
#[case::list("[1, 2, -3]", "[#, #, #]")]
#[case::power("1e10 and 1.5e-3", "# and #")]
#[case::literals("1u32 12MB 3rd", "#u32 #MB #rd")]
#[case::hex("at 0x7ffd12ab and 0xFF", "at # and #")]
#[case::java_object("Tide@1b6d3586", "Tide@#")]
#[case::uuid("id 2480b6e8-e077-4ae0-bcb4-21f268b38722.", "id #.")]
#[case::git("at f2d3ce0, not deadbeef", "at #, not deadbeef")]
#[case::sha("h8eb17b74920bf5c9 8eb17b74920bf5c98eb17b74920bf5c98eb17b74", "# #")]
#[case::time("2026-11-23T17:05:01.123Z at 17:05:01 of 2026-11-23", "# at # of #")]
#[case::zone("2026-11-23 17:05:01+02:00 x", "# x")]
#[case::date("Mon Nov 23 17:06:36 UTC 2026", "# # # # UTC #")]
#[case::duration("in 0.98s (1m30s, 12 ms, 3µs)", "in # (#, #, #)")]
#[case::duration_in_words("after 3 seconds or 1 minute, 3 sounds", "after # or #, # sounds")]
#[case::temporary_name_alone(
    "cannot open .tmpAb12Cd or tmp.8fQzKw1Xyz, but tmp.config",
    "cannot open <tmp> or <tmp>, but tmp.config"
)]
#[case::marks("‘a’ “b” `c' 'd' \"e\"", "\"a\" \"b\" \"c\" \"d\" \"e\"")]
#[case::apostrophe("can't see 3 of Ada's", "can\"t see # of Ada\"s")]
#[case::quoted_numbers_stay("'3' and `[i32; 4]` of 4", "\"3\" and \"[i32; 4]\" of #")]
#[case::quoted_ports_do_not("'localhost:45123' and \"0x12\" \"1.5s\"", "\"localhost:#\" and \"#\" \"#\"")]
#[case::identifiers("E0308 TS2322 foo1 x86_64 _2 utf8mb4 facade1 2d", "E0308 TS2322 foo1 x86_64 _2 utf8mb4 facade1 2d")]
#[case::space("  a\t b\r\n\n c ", "a b c")]
#[case::letters("Größe ‘é1’ 日本語", "Größe \"é1\" 日本語")]
fn texts_have_one_form(#[case] text: &str, #[case] normal: &str) {
    assert_eq!(normalizer().normalize(text), normal);
}

#[rstest]
#[case::codes("error E0308", "error E0277")]
#[case::identifiers("cannot find `foo1`", "cannot find `foo2`")]
#[case::quoted("expected `u32`, found `&str`", "expected `u32`, found `bool`")]
#[case::files("src/a1.rs is missing", "src/a2.rs is missing")]
#[case::quoted_small("no field `0`", "no field `1`")]
fn two_errors_differ(#[case] one: &str, #[case] other: &str) {
    assert_ne!(of(one), of(other));
}

#[rstest]
#[case::verifier(|identity: &mut Identity<'_>| identity.verifier = "test")]
#[case::kind(|identity: &mut Identity<'_>| identity.kind = &FindingKind::TestFail)]
#[case::file(|identity: &mut Identity<'_>| identity.file = Some("src/b.rs"))]
#[case::no_file(|identity: &mut Identity<'_>| identity.file = None)]
#[case::number_in_a_code(|identity: &mut Identity<'_>| identity.code = Some("test_many[2]"))]
#[case::moved_to_the_text(|identity: &mut Identity<'_>| (identity.code, identity.text) = (None, "test_many[1]no"))]
fn every_part_counts(#[case] change: fn(&mut Identity<'_>)) {
    let (file, code) = (Some("src/a.rs"), Some("test_many[1]"));
    let identity = Identity { verifier: "build", kind: &FindingKind::BuildFail, file, code, text: "no" };
    let mut other = identity;
    change(&mut other);
    assert_ne!(Fingerprint::of(&identity, &normalizer()), Fingerprint::of(&other, &normalizer()));
}

#[rstest]
#[case::absolute("/home/ada/tides/src/a.rs", "src/a.rs")]
#[case::dotted("./src/a.rs", "src/a.rs")]
#[case::address("file:///home/ada/tides/src/a.rs", "src/a.rs")]
#[case::backslashes("src\\a.rs", "src/a.rs")]
#[case::elsewhere("/usr/lib/a.rs", "/usr/lib/a.rs")]
#[case::root("/home/ada/tides", ".")]
fn paths_are_relative_to_the_root(#[case] path: &str, #[case] relative: &str) {
    assert_eq!(normalizer().relative(path), relative);
}

#[test]
fn a_fingerprint_has_32_digits() {
    insta::assert_snapshot!(of("cannot find `tide` in line 3"), @"e62728845f57c69bd51fa2900ff2c5bd");
}

/// Words of compilers, with names and codes but without numbers.
fn word() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z]{2,6}", "[G-Zg-z][a-z]{1,5}[0-9]{1,2}", "E0[0-9]{3}", "`[a-z_]{1,8}[0-9]?`"]
}

/// A text that changes from run to run, in two variants.
fn volatile() -> impl Strategy<Value = (String, String)> {
    let pair = |pattern: &'static str| (pattern, pattern).prop_map(|(one, other)| (one, other));
    prop_oneof![
        pair("[0-9]{1,9}"),
        pair("0x[0-9a-f]{1,12}"),
        pair("[0-9]{1,4}\\.[0-9]{1,3}(s|ms)"),
        pair("/tmp/[a-zA-Z0-9._-]{1,12}[a-zA-Z0-9]/src/tide"),
        pair("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"),
        pair("[12][0-9]{3}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-5][0-9]Z"),
        pair("src/tide\\.rs:[0-9]{1,5}:[0-9]{1,3}"),
        pair("(/home/ada/tides|/tmp/tmp\\.8fQzKw1Xyz)/src/tide\\.c"),
        pair("[‘]tide[’]|\"tide\"|'tide'|`tide`|“tide”"),
        pair("[ \t]{1,4}"),
    ]
}

proptest! {
    #[test]
    fn parts_that_change_between_runs_do_not_count(
        words in prop::collection::vec(word(), 1..5),
        volatile in prop::collection::vec(volatile(), 1..4),
    ) {
        let text = |second: bool| {
            let pieces = volatile.iter().map(|(one, other)| if second { other } else { one });
            words.iter().chain(pieces).cloned().collect::<Vec<_>>().join(" ")
        };
        prop_assert_eq!(of(&text(false)), of(&text(true)));
    }

    #[test]
    fn different_words_are_a_different_error(
        one in prop::collection::vec(word(), 1..5),
        other in prop::collection::vec(word(), 1..5),
    ) {
        prop_assume!(one != other);
        prop_assert_ne!(of(&one.join(" ")), of(&other.join(" ")));
    }

    #[test]
    fn any_text_has_a_normal_form_with_single_spaces_and_one_mark(text in "\\PC{0,80}|[ -~\n]{0,80}") {
        let normal = normalizer().normalize(&text);
        prop_assert!(!normal.contains("  ") && !normal.contains(['‘', '’', '“', '”', '`', '\'', '\n']), "{:?}", normal);
    }
}
