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
extern WEAK const TSLanguage *tree_sitter_python(void);
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
extern WEAK bool ts_tree_cursor_goto_first_child(TSTreeCursor *);
extern WEAK bool ts_tree_cursor_goto_next_sibling(TSTreeCursor *);
extern WEAK bool ts_tree_cursor_goto_parent(TSTreeCursor *);

enum { SYM_COMMENT = 99, SYM_CONTINUATION = 100, SYM_STRING = 232, SYM_STRING_CONTENT = 233, SYM_INTERPOLATION = 234 };

void *pt_parser_new(void) {
	TSParser *p = ts_parser_new();
	if (p && !ts_parser_set_language(p, tree_sitter_python())) {
		ts_parser_delete(p);
		return NULL;
	}
	return p;
}

void pt_parser_delete(void *parser) { ts_parser_delete(parser); }

void pt_free(pt_node *nodes) { free(nodes); }

// first_error finds the first ERROR or MISSING node, in document order.
static void first_error(TSTreeCursor *cursor, pt_result *r) {
	int depth = 0;
	for (;;) {
		TSNode n = ts_tree_cursor_current_node(cursor);
		if (ts_node_is_missing(n) || ts_node_is_error(n)) {
			r->status = ts_node_is_missing(n) ? PT_MISSING : PT_ERROR;
			r->start = ts_node_start_byte(n);
			r->end = ts_node_end_byte(n);
			return;
		}
		if (ts_node_has_error(n) && ts_tree_cursor_goto_first_child(cursor)) {
			depth++;
			continue;
		}
		while (!ts_tree_cursor_goto_next_sibling(cursor)) {
			if (depth-- == 0 || !ts_tree_cursor_goto_parent(cursor)) return;
		}
	}
}

// flatten writes the tree in preorder. Comments and continuations are left out, and so are the insides of strings
// other than interpolations: nothing above needs them, and they are a fifth of all nodes.
static void flatten(TSTreeCursor *cursor, uint32_t len, pt_result *r) {
	uint32_t cap = len / 3 + 64, n = 0, depth = 0, deep = 64;
	pt_node *out = malloc(cap * sizeof *out);
	uint32_t *open = malloc(deep * sizeof *open);
	if (!out || !open) goto fail;
	for (;;) {
		TSNode node = ts_tree_cursor_current_node(cursor);
		uint16_t sym = ts_node_symbol(node);
		bool inside = depth > 0 && (out[open[depth - 1]].symbol == SYM_STRING || out[open[depth - 1]].symbol == SYM_STRING_CONTENT);
		if (sym != SYM_COMMENT && sym != SYM_CONTINUATION && (!inside || sym == SYM_INTERPOLATION)) {
			if (n == cap) {
				cap *= 2;
				pt_node *bigger = realloc(out, cap * sizeof *out);
				if (!bigger) goto fail;
				out = bigger;
			}
			out[n] = (pt_node){.symbol = sym, .start = ts_node_start_byte(node), .end = ts_node_end_byte(node), .next = n + 1};
			n++;
			if (ts_tree_cursor_goto_first_child(cursor)) {
				if (depth == deep) {
					deep *= 2;
					uint32_t *bigger = realloc(open, deep * sizeof *open);
					if (!bigger) goto fail;
					open = bigger;
				}
				open[depth++] = n - 1;
				continue;
			}
		}
		while (!ts_tree_cursor_goto_next_sibling(cursor)) {
			if (depth == 0) goto done;
			out[open[--depth]].next = n;
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
	r->status = PT_MEMORY;
}

pt_result pt_parse(void *parser, const char *src, uint32_t len) {
	pt_result r = {0};
	TSTree *tree = ts_parser_parse_string(parser, NULL, src, len);
	if (!tree) {
		r.status = PT_PARSER;
		return r;
	}
	TSNode root = ts_tree_root_node(tree);
	TSTreeCursor cursor = ts_tree_cursor_new(root);
	if (ts_node_has_error(root)) {
		r.status = PT_ERROR;
		first_error(&cursor, &r);
	} else {
		flatten(&cursor, len, &r);
	}
	ts_tree_cursor_delete(&cursor);
	ts_tree_delete(tree);
	return r;
}

void pt_bare(void *parser, const char *src, uint32_t len) {
	TSTree *tree = ts_parser_parse_string(parser, NULL, src, len);
	if (tree) ts_tree_delete(tree);
}
