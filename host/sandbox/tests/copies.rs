//! What checkpoints and forks keep of a sandbox's files, and what they leave.

mod common;

use common::{Root, isolated, limited, output, run, unisolated};
use keepsake_sandbox::{LocalBackend, SandboxBackend, SandboxError, SandboxLimits, SandboxRequest};
use keepsake_types::limits::SANDBOX_CHECKPOINTS;

/// Both kinds of backends: a copy is the host's work with either.
fn backends() -> [(Root, LocalBackend); 2] {
    [isolated(), unisolated()]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_is_like_its_original_but_for_what_is_not_a_file() {
    for (_root, backend) in backends() {
        let sandbox = backend.create(SandboxRequest::default()).await.unwrap();
        let line = "umask 022; mkdir -p full/empty; echo text > full/file; \
            touch -d '2001-02-03 04:05:06 UTC' full/file; chmod 751 full; \
            ln -s nowhere dangling; ln -s /etc/passwd absolute; ln -s full to-full; \
            echo linked > one; ln one other; \
            printf x > \"$(printf 'n\\377me')\"; \
            cp /bin/true bits; chmod 6755 bits; chmod 1777 full/empty; \
            mkfifo pipe; perl -MSocket -e 'socket(S, AF_UNIX, SOCK_STREAM, 0); \
                bind(S, pack_sockaddr_un(\"socket\")) or die $!'; \
            : > unreadable; chmod 000 unreadable";
        let made = run(&sandbox, line).await;
        assert!(made.status.success() && made.stderr.is_empty(), "{made:?}");
        let checkpoint = sandbox.checkpoint("all").await.unwrap();
        // Another name of a file is another file in a copy.
        let look = "find . -printf '%P %y %m %l\\n' | sort; stat -c %Y full full/file; \
            echo more >> one; cat other to-full/file";
        let expected = b" d 700 \n\
            absolute l 777 /etc/passwd\n\
            bits f 755 \n\
            dangling l 777 nowhere\n\
            full d 751 \n\
            full/empty d 777 \n\
            full/file f 644 \n\
            n\xffme f 644 \n\
            one f 644 \n\
            other f 644 \n\
            to-full l 777 full\n\
            unreadable f 0 \n";
        let full_time = output(&sandbox, "stat -c %Y full").await;
        let expected = [
            expected.as_slice(),
            full_time.as_bytes(),
            b"981173106\nlinked\ntext\n",
        ]
        .concat();
        for of in [Some(checkpoint.id.as_str()), None] {
            let fork = sandbox.fork(of).await.unwrap();
            let result = run(&fork, look).await;
            assert_eq!(
                String::from_utf8_lossy(&result.stdout),
                String::from_utf8_lossy(&expected),
                "{result:?}"
            );
            assert!(result.stdout == expected, "bytes differ");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn holes_take_no_room_in_a_copy() {
    for (_root, backend) in backends() {
        let limits = SandboxLimits {
            disk_bytes: 4 << 20,
            ..SandboxLimits::default()
        };
        let sandbox = backend.create(limited(limits)).await.unwrap();
        let line = "truncate -s 200M empty; truncate -s 200M some; \
            printf middle | dd of=some bs=1 seek=100000000 conv=notrunc; \
            printf end | dd of=some bs=1 seek=209715197 conv=notrunc; \
            printf begin | dd of=some bs=1 conv=notrunc; truncate -s 0 none";
        assert!(run(&sandbox, line).await.status.success());
        let checkpoint = sandbox.checkpoint("holes").await.unwrap();
        let fork = sandbox.fork(Some(&checkpoint.id)).await.unwrap();
        let look = "wc -c < empty; wc -c < none; cksum < some; du -sk . | cut -f1";
        let (before, after) = (output(&sandbox, look).await, output(&fork, look).await);
        assert_eq!(before, after);
        assert!(before.starts_with("209715200\n0\n"), "{before}");
        let used = fork.metrics().await.unwrap().disk_bytes.unwrap();
        assert!(used < 1 << 20, "{used} bytes");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_file_is_copied_whole() {
    let (_root, backend) = isolated();
    let sandbox = backend.create(SandboxRequest::default()).await.unwrap();
    let line = "head -c 60000000 /dev/urandom > large && cksum < large";
    let before = output(&sandbox, line).await;
    let fork = sandbox.fork(None).await.unwrap();
    assert_eq!(output(&fork, "cksum < large").await, before);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_that_is_refused_leaves_nothing() {
    let (root, backend) = unisolated();
    let limits = SandboxLimits {
        disk_bytes: 2 << 20,
        disk_entries: 50,
        ..SandboxLimits::default()
    };
    let sandbox = backend.create(limited(limits)).await.unwrap();
    let place = root.path().join(sandbox.id());
    let checkpoints = || {
        std::fs::read_dir(place.join("checkpoints"))
            .unwrap()
            .count()
    };
    for (line, limit) in [
        ("head -c 3M /dev/urandom > large", "disk-bytes"),
        (
            "rm large; for i in $(seq 60); do : > $i; done",
            "disk-entries",
        ),
        (
            "rm -r ./*; mkdir -p $(printf 'd/%.0s' $(seq 80))",
            "sandbox-directory-depth",
        ),
    ] {
        run(&sandbox, line).await;
        let refused = [
            sandbox.checkpoint("large").await.map(|_| ()),
            sandbox.fork(None).await.map(|_| ()),
        ];
        for refused in refused {
            let Err(SandboxError::Limit { name, .. }) = refused else {
                panic!("{line}: {refused:?}");
            };
            assert_eq!(name, limit);
        }
        assert_eq!(checkpoints(), 0);
    }
    run(&sandbox, "rm -r ./*").await;
    for number in 0..SANDBOX_CHECKPOINTS {
        sandbox.checkpoint(&format!("ü {number}")).await.unwrap();
    }
    let refused = sandbox.checkpoint("one more").await;
    assert!(
        matches!(
            refused,
            Err(SandboxError::Limit {
                name: "sandbox-checkpoints",
                ..
            })
        ),
        "{refused:?}"
    );
    assert_eq!(checkpoints(), SANDBOX_CHECKPOINTS);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fork_of_a_fork_outlives_both() {
    let (root, backend) = isolated();
    let first = backend.create(SandboxRequest::default()).await.unwrap();
    first.write_file("file", b"first").await.unwrap();
    let second = first.fork(None).await.unwrap();
    second.write_file("file", b"second").await.unwrap();
    let kept = second.checkpoint("second").await.unwrap();
    second.write_file("file", b"later").await.unwrap();
    let third = second.fork(Some(&kept.id)).await.unwrap();
    first.close().await.unwrap();
    second.close().await.unwrap();
    assert_eq!(
        output(&third, "cat file; echo ' more' >> file").await,
        "second"
    );
    assert_eq!(third.read_file("file").await.unwrap(), b"second more\n");
    third.close().await.unwrap();
    assert_eq!(std::fs::read_dir(root.path()).unwrap().count(), 0);
}
