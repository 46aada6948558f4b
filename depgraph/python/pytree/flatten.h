#include <stdbool.h>
#include <stdint.h>

// One node of the flattened tree; the Go type Node has the same layout.
typedef struct {
	uint16_t symbol;
	uint16_t flags;
	uint32_t start, end; // bytes
	uint32_t next;       // index of the first node after the subtree
} pt_node;

typedef struct {
	pt_node *nodes;
	uint32_t count;
	int32_t status;        // 0, or one of the PT_ values
	uint32_t start, end;   // of the first error
} pt_result;

enum { PT_OK = 0, PT_ERROR = 1, PT_MISSING = 2, PT_MEMORY = 3, PT_PARSER = 4 };

void *pt_parser_new(void);
void pt_parser_delete(void *parser);
pt_result pt_parse(void *parser, const char *src, uint32_t len);
void pt_bare(void *parser, const char *src, uint32_t len);
void pt_free(pt_node *nodes);
