# The two commands of a newcomer are `make demo` and `make test`.

CARGO ?= cargo

# Cargo compiles a dependency with the features that the chosen packages want
# together. With these, what the program is made of is what the tests compile,
# and neither command makes the other compile wasmtime again.
SAME_FEATURES = --package keepsake-host --package keepsake-sdk --package keepsake-test-execd

.PHONY: build compile demo demo-nvidia test test-opensandbox bench eval torture lint bubblewrap target clean-demo

# The host with the plugins it ships inside it: target/release/host.
build: target
	$(CARGO) build --release $(SAME_FEATURES)

# The story in two processes: a customer tells something, and a later session
# in a new sandbox knows it.
demo: build bubblewrap
	@examples/demo/run.sh

# The same with NVIDIA's models. Needs a key, and sends what is said to them.
demo-nvidia: build bubblewrap
	@test -n "$$NVIDIA_API_KEY" || { echo "set NVIDIA_API_KEY to your key: export NVIDIA_API_KEY=…"; exit 2; }
	@HOST_CONFIG=examples/nvidia/host.toml HOST_DATA=.keepsake-nvidia examples/demo/run.sh

# Forgets what the demo remembered.
clean-demo:
	rm -rf .keepsake .keepsake-nvidia

# Plugins in JavaScript, TypeScript and Python are tested where node, npm and
# python3 are; CI has them, and fails without.
test: target bubblewrap
	@for tool in node npm python3; do command -v $$tool >/dev/null 2>&1 || missing="$$missing $$tool"; done; \
	if [ -n "$$missing" ] && [ -z "$$CI" ]; then \
	  echo "NOT TESTED: plugins in JavaScript, TypeScript and Python, for want of$$missing"; \
	  echo '$(CARGO) test --release --workspace -- --skip languages::'; \
	  $(CARGO) test --release --workspace -- --skip languages::; \
	else \
	  echo '$(CARGO) test --release --workspace'; \
	  $(CARGO) test --release --workspace; \
	fi

# Everything that the tests run, and nothing run yet. A compiler has crashed on
# a busy machine: it gets more stack, and a second try, which costs nothing
# where the sources are wrong.
compile: target
	@RUST_MIN_STACK=16777216 $(CARGO) test --release --workspace --no-run || { \
	  echo "compiling failed; trying once more"; \
	  RUST_MIN_STACK=16777216 $(CARGO) test --release --workspace --no-run; \
	}

# What needs containers: a real OpenSandbox server on podman.
test-opensandbox: target
	@tests/opensandbox/run.sh

# Times the host against what bounds it, and prints the ratios.
bench: build
	$(CARGO) bench --profile release --package keepsake-bench
	@$(CARGO) run --release --quiet --package keepsake-bench --bin performance-table target/criterion

# Measures how well memory recalls, on the questions in tests/eval/data.
eval: build
	@$(CARGO) run --release --quiet --package keepsake-eval

# Kills a host that writes, 200 times, and looks for what it had acknowledged.
torture: target
	KEEPSAKE_ROUNDS=200 $(CARGO) test --release --package keepsake-storage --test storage -- crash::

lint: target
	$(CARGO) fmt --all --check
	$(CARGO) clippy --release --workspace --all-targets --all-features -- -D warnings

# A rust-toolchain.toml would not do: automatic installs may be switched off.
target:
	@if command -v rustup >/dev/null 2>&1; then \
	  rustup target list --installed | grep -qx wasm32-wasip2 || rustup target add wasm32-wasip2; \
	fi

# What isolates the local sandbox. Installed where that can be done without
# asking; elsewhere the demo still runs, and says what is missing.
bubblewrap:
	@command -v bwrap >/dev/null 2>&1 || { \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then \
	    echo "installing bubblewrap, which isolates the sandbox"; \
	    apt-get update -qq && apt-get install -y -qq bubblewrap >/dev/null; \
	  else \
	    echo "bubblewrap is missing: install it (apt-get install bubblewrap, dnf install bubblewrap, pacman -S bubblewrap)"; \
	  fi; \
	}
