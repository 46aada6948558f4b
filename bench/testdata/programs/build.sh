#!/bin/bash
# A build as scripts of projects have them: sources are made, checked, "compiled", tested and packed.
set -eu
VERSION=1.4.2
NAME=demo
OUT=out
SRC="$OUT/src"
OBJ="$OUT/obj"
DIST="$OUT/dist"
MODULES=(core parser lexer printer cache store net log)
export BUILD_MODE=release
warnings=0
declare -A lines

log() { printf '[%s] %s\n' "$NAME" "$*"; }

die() {
	log "error: $*" >&2
	exit 1
}

need() {
	local tool
	for tool in "$@"; do
		command -v "$tool" >/dev/null || die "$tool is missing"
	done
}

make_module() {
	local module=$1 i
	{
		echo "/* $module $VERSION */"
		for i in 1 2 3 4 5; do
			echo "int ${module}_$i(void) { return $i; } /* TODO $i */"
		done
	} >"$SRC/$module.c"
}

compile() {
	sed -e 's/TODO/DONE/' -e "s/VERSION/$VERSION/" "$SRC/$1.c" >"$OBJ/$1.o"
}

need sed grep sort wc tr mkdir cat find
rm -rf "$OUT"
mkdir -p "$SRC" "$OBJ" "$DIST"

log "version $VERSION, mode $BUILD_MODE"
for module in "${MODULES[@]}"; do
	make_module "$module"
done

cat >"$SRC/config.h" <<END
#define NAME "$NAME"
#define VERSION "$VERSION"
END

cat >"$OUT/notice.txt" <<'END'
This text is kept as it is: $NAME.
END

count=$(grep -c TODO "$SRC/core.c" || true)
log "core has $count notes"
if grep -q VERSION "$SRC/config.h"; then
	log "config.h names the version"
fi

for module in "${MODULES[@]}"; do
	lines[$module]=$(wc -l <"$SRC/$module.c")
	if [[ ${lines[$module]} -gt 5 ]]; then
		warnings=$((warnings + 1))
	fi
done
log "$warnings modules are long"

total=0
for module in "${!lines[@]}"; do
	((total += lines[$module])) || true
done
log "$total lines"

for module in "${MODULES[@]}"; do
	compile "$module"
done
log "compiled $(find "$OBJ" -name '*.o' | wc -l) modules"

objects=("$OBJ"/*.o)
cat "${objects[@]}" >"$DIST/$NAME.bin"
size=$(wc -c <"$DIST/$NAME.bin")
log "$NAME.bin has $size bytes"

left=$(grep -l TODO "${objects[@]}" | wc -l || true)
[ "$left" -eq 0 ] || die "$left notes are left"

upper=${NAME^^}
tag="$upper-${VERSION//./_}"
names=$(printf '%s\n' "${MODULES[@]}" | sort -r | tr '\n' ' ')
log "tag $tag, modules $names"

while read -r word rest; do
	case $word in
	"#define") log "defined $rest" ;;
	*) die "unknown line $word" ;;
	esac
done <"$SRC/config.h"

i=0
until ((i >= 3)); do
	i=$((i + 1))
	printf 'pass %d\n' "$i" | tr '[:lower:]' '[:upper:]'
done

cat "$OUT/notice.txt"
sort "$SRC"/*.c | grep -c int >"$OUT/functions.txt"
log "$(cat "$OUT/functions.txt") functions"
cp "$DIST/$NAME.bin" "$DIST/$NAME-$VERSION.bin"
rm -rf "$OBJ"
log "done"
