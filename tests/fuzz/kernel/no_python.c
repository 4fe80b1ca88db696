/* What the kernel's files refer to of Python. The harnesses call what is below that: of all this
 * only the release of a buffer is reached, which holds nothing here. Without Python's headers, so
 * that the names can be defined in one way. */
#include <stdlib.h>

void PyBuffer_Release(void *buffer);
void PyBuffer_Release(void *buffer)
{
    (void)buffer;
}

char PyExc_RuntimeError, PyExc_TypeError, PyTuple_Type, PyExc_ValueError, _Py_NoneStruct, _Py_TrueStruct, _Py_FalseStruct;

#define UNREACHED(name)                                                                            \
    void name(void);                                                                               \
    void name(void)                                                                                \
    {                                                                                              \
        abort();                                                                                   \
    }
UNREACHED(PyArg_ParseTuple)
UNREACHED(_PyArg_ParseTuple_SizeT)
UNREACHED(PyArg_ParseTupleAndKeywords)
UNREACHED(_PyArg_ParseTupleAndKeywords_SizeT)
UNREACHED(PyBytes_AsString)
UNREACHED(PyBytes_AsStringAndSize)
UNREACHED(PyBytes_FromStringAndSize)
UNREACHED(PyBytes_Size)
UNREACHED(PyDict_Size)
UNREACHED(PyErr_NoMemory)
UNREACHED(PyErr_SetString)
UNREACHED(PyEval_RestoreThread)
UNREACHED(PyEval_SaveThread)
UNREACHED(PyImport_ImportModule)
UNREACHED(PyLong_FromLongLong)
UNREACHED(PyMem_Free)
UNREACHED(PyMem_Malloc)
UNREACHED(PyObject_CallMethod)
UNREACHED(_PyObject_CallMethod_SizeT)
UNREACHED(PyObject_GetBuffer)
UNREACHED(PyTuple_GetItem)
UNREACHED(PyTuple_Size)
UNREACHED(PyType_GetFlags)
UNREACHED(PyType_GetSlot)
UNREACHED(Py_BuildValue)
UNREACHED(_Py_BuildValue_SizeT)
UNREACHED(Py_DecRef)
UNREACHED(Py_IncRef)
UNREACHED(Py_NewRef)
UNREACHED(_Py_Dealloc)
UNREACHED(_Py_NegativeRefcount)
void __attribute__((weak)) numbers_of_rows(void);
UNREACHED(numbers_of_rows) /* of rows.c, for hashes.c: it takes Python's arguments */
