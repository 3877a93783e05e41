/** The limits of the command line. */
/** Size of a file in an archive that is read, which is buffered as a whole: an object with very many links makes a long one. */
export const archiveFileBytesMax = 512 * 2 ** 20

/** Nesting of objects and arrays from which an import infers classes: a server accepts no deeper nesting of embeddable classes. */
export const inferredDepthMax = 30

/** Attributes that an import infers, in all classes together. */
export const inferredAttributesMax = 10_000

/** Size of the temporary file to which an import copies standard input or a pipe, to read it twice. */
export const importSpoolBytesMax = 4 * 2 ** 30
