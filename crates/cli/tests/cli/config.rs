//! Options from a file and from the environment.

use std::fs;

use crate::program::{Place, lines};

fn write(place: &Place, text: &str) {
    fs::write(place.path("outbox.toml"), text).unwrap();
}

#[test]
fn a_file_in_the_folder_is_read_and_the_environment_and_the_command_line_win() {
    let place = Place::migrated();
    place.run(&["save"], &lines(3, 1)).expect(0);
    write(
        &place,
        "schema = \"outbox\"\n[relay]\nto = \"file:by-file\"\nuntil_empty = true\nname = \"r\"\n",
    );
    place.run(&["relay"], "").expect(0);
    assert!(place.path("by-file").exists());

    let mut program = place.program(&["relay", "--for=10ms"]);
    program.env("OUTBOX_TO", "file:by-variable");
    assert!(program.output().unwrap().status.success());
    assert!(place.path("by-variable").exists());

    place.run(&["relay", "--to=file:by-hand"], "").expect(0);
    assert!(place.path("by-hand").exists());
    // A route stands instead of what the file says.
    place
        .run(&["relay", "--route=*=file:by-route"], "")
        .expect(0);
    assert!(place.path("by-route").exists());
}

#[test]
fn a_secret_comes_from_a_file_or_a_variable() {
    let place = Place::migrated();
    place.run(&["save"], &lines(1, 1)).expect(0);
    fs::write(place.path("secret"), "file:by-secret\n").unwrap();
    let secret = place.path("secret");
    write(
        &place,
        &format!("[relay]\nto = \"${{file:{}}}\"\n", secret.display()),
    );
    place.run(&["relay", "--until-empty"], "").expect(0);
    assert!(place.path("by-secret").exists());
    write(&place, "[relay]\nto = \"${env:WHERE_TO}\"\n");
    let mut program = place.program(&["relay", "--until-empty"]);
    assert!(
        program
            .env("WHERE_TO", "file:by-env")
            .output()
            .unwrap()
            .status
            .success()
    );
    assert!(place.path("by-env").exists());
    let refused = place.run(&["relay", "--until-empty"], "").expect(2).stderr;
    assert!(
        refused.contains("the variable WHERE_TO is not set"),
        "{refused}"
    );
}

#[test]
fn what_is_wrong_with_the_file_is_said_with_its_name_and_place() {
    let place = Place::migrated();
    for (text, told) in [
        ("[relay]\nlese = '1s'\n", "there is no option relay.lese"),
        ("lease = 1s\n", "outbox.toml, line 1"),
        ("[rely]\nlease = '1s'\n", "no command is called rely"),
        (
            "[relay]\nlease = 'soon'\n",
            "The value comes from outbox.toml",
        ),
        (
            "[relay]\nuntil_empty = 'maybe'\n",
            "until-empty is true or false",
        ),
    ] {
        write(&place, text);
        let refused = place
            .run(&["relay", "--to=stdout:", "--for=1ms"], "")
            .expect(2);
        assert!(refused.stderr.contains(told), "{}", refused.stderr);
    }
    let missing = ["status", "--config=nowhere.toml"];
    let refused = place.run(&missing, "").expect(2).stderr;
    assert!(refused.contains("cannot read nowhere.toml"), "{refused}");
}

#[test]
fn each_option_can_stand_in_a_variable() {
    let place = Place::migrated();
    let mut program = place.program(&["relay", "--to=stdout:", "--for=1ms"]);
    let refused = program.env("OUTBOX_LEASE", "soon").output().unwrap();
    let told = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2));
    assert!(told.contains("The value comes from OUTBOX_LEASE"), "{told}");
}
