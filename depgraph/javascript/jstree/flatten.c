// The prototypes below are those of tree_sitter/api.h, which is in another Go module and cannot be included by
// path. They are weak because the package is first linked alone (cgo looks for dynamic imports that way), where
// nothing defines them; in the program they resolve to the objects of go-tree-sitter. TestPrototypes checks the layouts.
#include "flatten.h"
#include <stdlib.h>

typedef struct TSTree TSTree;
typedef struct TSLanguage TSLanguage;
typedef struct TSParser TSParser;
typedef struct { uint32_t context[4]; const void *id; const TSTree *tree; } TSNode;
typedef struct { const void *tree; const void *id; uint32_t context[3]; } TSTreeCursor;

#define WEAK __attribute__((weak))
extern WEAK const TSLanguage *tree_sitter_javascript(void);
extern WEAK const TSLanguage *tree_sitter_typescript(void);
extern WEAK const TSLanguage *tree_sitter_tsx(void);
extern WEAK TSParser *ts_parser_new(void);
extern WEAK void ts_parser_delete(TSParser *);
extern WEAK bool ts_parser_set_language(TSParser *, const TSLanguage *);
extern WEAK TSTree *ts_parser_parse_string(TSParser *, const TSTree *, const char *, uint32_t);
extern WEAK void ts_tree_delete(TSTree *);
extern WEAK TSNode ts_tree_root_node(const TSTree *);
extern WEAK uint16_t ts_node_symbol(TSNode);
extern WEAK uint32_t ts_node_start_byte(TSNode);
extern WEAK uint32_t ts_node_end_byte(TSNode);
extern WEAK bool ts_node_has_error(TSNode);
extern WEAK bool ts_node_is_error(TSNode);
extern WEAK bool ts_node_is_missing(TSNode);
extern WEAK TSTreeCursor ts_tree_cursor_new(TSNode);
extern WEAK void ts_tree_cursor_delete(TSTreeCursor *);
extern WEAK TSNode ts_tree_cursor_current_node(const TSTreeCursor *);
extern WEAK uint16_t ts_tree_cursor_current_field_id(const TSTreeCursor *);
extern WEAK bool ts_tree_cursor_goto_first_child(TSTreeCursor *);
extern WEAK bool ts_tree_cursor_goto_next_sibling(TSTreeCursor *);
extern WEAK bool ts_tree_cursor_goto_parent(TSTreeCursor *);

void *jt_parser_new(int language) {
	TSParser *p = ts_parser_new();
	const TSLanguage *l = language == 0 ? tree_sitter_javascript() : language == 1 ? tree_sitter_typescript() : tree_sitter_tsx();
	if (p && !ts_parser_set_language(p, l)) {
		ts_parser_delete(p);
		return NULL;
	}
	return p;
}

void jt_parser_delete(void *parser) { ts_parser_delete(parser); }

void jt_free(jt_node *nodes) { free(nodes); }

// grown returns a larger copy of a list that is full.
static void *grown(void *list, uint32_t *cap, size_t size) {
	void *bigger = realloc(list, (size_t)*cap * 2 * size);
	if (bigger) *cap *= 2;
	return bigger;
}

typedef struct { uint32_t node; bool parts; } jt_open;

// flatten writes the tree in preorder. What nothing above needs is left out, as the table of kinds says.
static void flatten(TSTreeCursor *cursor, const uint16_t *kinds, uint16_t symbols, const uint8_t *fields, uint32_t len, jt_result *r) {
	uint32_t cap = len / 3 + 64, n = 0, depth = 0, deep = 64;
	jt_node *out = malloc(cap * sizeof *out);
	jt_open *open = malloc(deep * sizeof *open);
	if (!out || !open) goto fail;
	for (;;) {
		TSNode node = ts_tree_cursor_current_node(cursor);
		bool error = ts_node_is_error(node), missing = ts_node_is_missing(node);
		uint16_t sym = ts_node_symbol(node), kind = error ? 1 : sym < symbols ? kinds[sym] : 0;
		bool inside = depth > 0 && open[depth - 1].parts;
		bool part = ts_node_has_error(node) || missing;
		if ((error || missing) && !r->broken) {
			r->broken = true;
			r->missing = missing;
			r->start = ts_node_start_byte(node);
			r->end = ts_node_end_byte(node);
		}
		if (!(kind & JT_DROP) && (!inside || (kind & JT_MASK) == kinds[symbols] || part)) {
			if (n == cap) {
				jt_node *bigger = grown(out, &cap, sizeof *out);
				if (!bigger) goto fail;
				out = bigger;
			}
			out[n] = (jt_node){.kind = kind & JT_MASK, .field = fields[ts_tree_cursor_current_field_id(cursor)],
				.flags = (missing ? JT_MISSING : 0) | (part ? JT_BROKEN : 0),
				.start = ts_node_start_byte(node), .end = ts_node_end_byte(node), .next = n + 1};
			n++;
			if ((!(kind & JT_LEAF) || part) && ts_tree_cursor_goto_first_child(cursor)) {
				if (depth == deep) {
					jt_open *bigger = grown(open, &deep, sizeof *open);
					if (!bigger) goto fail;
					open = bigger;
				}
				open[depth++] = (jt_open){n - 1, kind & JT_PARTS};
				continue;
			}
		}
		while (!ts_tree_cursor_goto_next_sibling(cursor)) {
			if (depth == 0) goto done;
			out[open[--depth].node].next = n;
			ts_tree_cursor_goto_parent(cursor);
		}
	}
done:
	free(open);
	r->nodes = out;
	r->count = n;
	return;
fail:
	free(open);
	free(out);
	r->status = JT_NO_MEMORY;
}

jt_result jt_parse(void *parser, const uint16_t *kinds, uint16_t symbols, const uint8_t *fields, const char *src, uint32_t len) {
	jt_result r = {0};
	TSTree *tree = ts_parser_parse_string(parser, NULL, src, len);
	if (!tree) {
		r.status = JT_NO_TREE;
		return r;
	}
	TSTreeCursor cursor = ts_tree_cursor_new(ts_tree_root_node(tree));
	flatten(&cursor, kinds, symbols, fields, len, &r);
	ts_tree_cursor_delete(&cursor);
	ts_tree_delete(tree);
	return r;
}
