/* What is used of CPython: functions of the stable ABI (https://docs.python.org/3/c-api/stable.html), and PyMarshal,
   which every CPython exports. They are declared here, for most users have no Python.h. */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef intptr_t Py_ssize_t;
typedef struct _object { Py_ssize_t refs; struct _object *type; } PyObject;
typedef PyObject *(*PyCFunction)(PyObject *, PyObject *);
typedef struct { const char *name; PyCFunction method; int flags; const char *doc; } PyMethodDef;
typedef struct { int slot; void *function; } PyType_Slot;
typedef struct { const char *name; int basicsize, itemsize; unsigned flags; PyType_Slot *slots; } PyType_Spec;
typedef struct {
	PyObject head; void *init; Py_ssize_t index; PyObject *copy;
	const char *name, *doc; Py_ssize_t size; PyMethodDef *methods; void *slots, *traverse, *clear, *free;
} PyModuleDef;
enum { METH_VARARGS = 1, METH_NOARGS = 4, METH_O = 8 };
enum { TP_DEALLOC = 52, TP_METHODS = 64, TP_NEW = 65, SQ_CONTAINS = 41, MP_LENGTH = 4, MP_SUBSCRIPT = 5 };

extern PyObject PyLong_Type, PyUnicode_Type, PyFloat_Type, PyBool_Type, PyBytes_Type, PyComplex_Type, PyList_Type,
	PyTuple_Type, PyDict_Type, PySet_Type, _Py_NoneStruct, _Py_TrueStruct;
extern PyObject *PyExc_KeyError, *PyExc_TypeError, *PyExc_ImportError;
void Py_IncRef(PyObject *), Py_DecRef(PyObject *);
PyObject *PyModule_Create2(PyModuleDef *, int);
int PyModule_AddObject(PyObject *, const char *, PyObject *);
PyObject *PyType_FromSpec(PyType_Spec *);
PyObject *PyType_GenericAlloc(PyObject *, Py_ssize_t);
void PyObject_Free(void *);
PyObject *PyObject_GetAttr(PyObject *, PyObject *);
const char *Py_GetVersion(void);
int PyArg_ParseTuple(PyObject *, const char *, ...);
void PyErr_SetString(PyObject *, const char *), PyErr_SetObject(PyObject *, PyObject *), PyErr_Clear(void);
PyObject *PyErr_Occurred(void), *PyErr_NoMemory(void);
PyObject *PyList_New(Py_ssize_t), *PyList_GetItem(PyObject *, Py_ssize_t);
Py_ssize_t PyList_Size(PyObject *), PyTuple_Size(PyObject *), PyDict_Size(PyObject *);
int PyList_SetItem(PyObject *, Py_ssize_t, PyObject *), PyList_Append(PyObject *, PyObject *),
	PyList_SetSlice(PyObject *, Py_ssize_t, Py_ssize_t, PyObject *);
PyObject *PyTuple_GetItem(PyObject *, Py_ssize_t);
int PyDict_Next(PyObject *, Py_ssize_t *, PyObject **, PyObject **);
PyObject *PyDict_New(void), *PySet_New(PyObject *);
int PyDict_SetItem(PyObject *, PyObject *, PyObject *), PySet_Add(PyObject *, PyObject *),
	PySet_Contains(PyObject *, PyObject *);
PyObject *PyObject_GetIter(PyObject *), *PyIter_Next(PyObject *);
PyObject *PyLong_FromLongLong(long long), *PyBool_FromLong(long);
long long PyLong_AsLongLong(PyObject *), PyLong_AsLongLongAndOverflow(PyObject *, int *);
double PyFloat_AsDouble(PyObject *);
const char *PyUnicode_AsUTF8AndSize(PyObject *, Py_ssize_t *);
PyObject *PyUnicode_FromString(const char *), *PyUnicode_AsEncodedString(PyObject *, const char *, const char *);
Py_ssize_t PyUnicode_GetLength(PyObject *);
int PyBytes_AsStringAndSize(PyObject *, char **, Py_ssize_t *);
PyObject *PyBytes_FromStringAndSize(const char *, Py_ssize_t);
PyObject *PyMemoryView_FromMemory(char *, Py_ssize_t, int);
PyObject *PyObject_CallFunctionObjArgs(PyObject *, ...);
PyObject *PyMarshal_WriteObjectToString(PyObject *, int);
PyObject *Py_BuildValue(const char *, ...);

#define None (&_Py_NoneStruct)
#define NONE_TYPE (_Py_NoneStruct.type)

/* What object.__hash__ says of an object, which the kernel takes for its id: the address, turned by four bits. */
static inline int64_t id_of(PyObject *o) { uint64_t p = (uint64_t)o; return (int64_t)(p >> 4 | p << 60); }

static PyObject *none(void) { Py_IncRef(None); return None; }
