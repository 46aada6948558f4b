#include <stdbool.h>
#include <stdint.h>

// One node of the flattened tree; the Go type Node has the same layout.
typedef struct {
	uint16_t kind;
	uint8_t field;
	uint8_t flags;       // JT_MISSING, JT_BROKEN
	uint32_t start, end; // bytes
	uint32_t next;       // index of the first node after the subtree
} jt_node;

enum { JT_MISSING = 1, JT_BROKEN = 2 };

// A kind in the table of symbols that says: leave the node out, or its children.
enum { JT_DROP = 0x8000, JT_LEAF = 0x4000, JT_PARTS = 0x2000, JT_MASK = 0x1fff };

typedef struct {
	jt_node *nodes;
	uint32_t count;
	int32_t status;      // 0, or one of the JT_NO values
	bool broken;         // the parser recovered from an error
	bool missing;        // of the first error: something is missing
	uint32_t start, end; // of the first error
} jt_result;

enum { JT_NO_MEMORY = 1, JT_NO_TREE = 2 };

void *jt_parser_new(int language);
void jt_parser_delete(void *parser);
jt_result jt_parse(void *parser, const uint16_t *kinds, uint16_t symbols, const uint8_t *fields, const char *src, uint32_t len);
void jt_free(jt_node *nodes);
