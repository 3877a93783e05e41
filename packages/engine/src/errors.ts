/** The catalogue of error types: each word, its kind and its title, in one place. */

/** What went wrong, from the caller's side. The server maps kinds to HTTP statuses; the engine knows none. */
export type ErrorKind =
  | 'malformed'
  | 'forbidden'
  | 'notFound'
  | 'conflict'
  | 'precondition'
  | 'unprocessable'
  | 'overloaded'
  | 'fault'

interface ErrorEntry {
  readonly kind: ErrorKind
  readonly title: string
  /** True when the same request, sent again unchanged, may well succeed. */
  readonly isRetryable?: true
}

/**
 * Error types are stable words: part of the interface, never renamed, never reused for something else.
 * A word stands for one kind, so that the status follows from the word alone.
 */
export const errorCatalogue = {
  // What the request says cannot be understood.
  MalformedRequest: { kind: 'malformed', title: 'The request cannot be understood' },
  MalformedValue: { kind: 'malformed', title: 'A value has the wrong JSON type' },
  MalformedOid: { kind: 'malformed', title: 'The OID is not well formed' },
  UnknownField: { kind: 'malformed', title: 'The body has a field that the operation does not know' },
  QuerySyntaxError: { kind: 'malformed', title: 'The query is not well formed' },

  // What the URL addresses does not exist.
  ClassNotFound: { kind: 'notFound', title: 'The class does not exist' },
  NamespaceNotFound: { kind: 'notFound', title: 'The namespace does not exist' },
  ObjectNotFound: { kind: 'notFound', title: 'The object does not exist' },
  IndexNotFound: { kind: 'notFound', title: 'The index does not exist' },

  // The request conflicts with what is stored.
  UniqueViolation: { kind: 'conflict', title: 'A unique index already holds these key values' },
  ClassExists: { kind: 'conflict', title: 'The class already exists' },
  AttributeExists: { kind: 'conflict', title: 'The attribute already exists with another definition' },
  SuperClassMismatch: { kind: 'conflict', title: 'The class has another superclass' },
  AttributeInUse: { kind: 'conflict', title: 'The attribute is used by an index or a link' },
  ClassInUse: { kind: 'conflict', title: 'The class is still used' },
  ValuesWouldBeLost: { kind: 'conflict', title: 'Stored values do not fit the changed attribute' },
  ClassIsEmbedded: { kind: 'conflict', title: 'The class is used as an embedded attribute type' },
  ClassIsReferenceable: { kind: 'conflict', title: 'A referenceable class cannot become embeddable' },
  IndexExists: { kind: 'conflict', title: 'The index already exists' },

  // The request names a version that is not the present one.
  PreconditionFailed: { kind: 'precondition', title: 'The object is not as the request expects it' },

  // Understood, but not possible.
  UnknownClass: { kind: 'unprocessable', title: 'The body names a class that does not exist' },
  UnknownAttribute: { kind: 'unprocessable', title: 'The body names an attribute that does not exist' },
  AmbiguousAttribute: { kind: 'unprocessable', title: 'The attribute name is ambiguous' },
  InvalidName: { kind: 'unprocessable', title: 'The name is not allowed' },
  InvalidDefinition: { kind: 'unprocessable', title: 'The definition is not possible' },
  ClassNotReferenceable: { kind: 'unprocessable', title: 'The class is not referenceable' },
  AttributeNotIndexable: { kind: 'unprocessable', title: 'The attribute cannot be a key attribute' },
  ValueNotAllowed: { kind: 'unprocessable', title: 'The value is not possible for the attribute' },
  InvalidReference: { kind: 'unprocessable', title: 'The reference does not name a fitting object' },
  QueryError: { kind: 'unprocessable', title: 'The query cannot be carried out' },
  LimitExceeded: { kind: 'unprocessable', title: 'A limit of the server is exceeded' },

  // Try again.
  TransactionContention: { kind: 'overloaded', title: 'Too many concurrent changes', isRetryable: true },
  StoreUnavailable: { kind: 'overloaded', title: 'The database cannot be reached', isRetryable: true },
  ShuttingDown: { kind: 'overloaded', title: 'The server is shutting down', isRetryable: true },

  // Our own faults only.
  SystemError: { kind: 'fault', title: 'The server failed' },
} as const satisfies Record<string, ErrorEntry>

export type ErrorType = keyof typeof errorCatalogue

/** One fault in detail; `pointer` is a JSON pointer (RFC 6901) into the request body. */
export interface ErrorDetail {
  readonly pointer: string
  readonly message: string
}

/** A failure that is the client's to understand: never thrown for our own faults. */
export class AshlarError extends Error {
  readonly type: ErrorType
  readonly errors: readonly ErrorDetail[]
  /** What else the error tells beside its message, such as the line and column in a query; RFC 9457, section 3.2. */
  readonly extensions: Readonly<Record<string, unknown>>

  constructor(
    type: ErrorType,
    message: string,
    errors: readonly ErrorDetail[] = [],
    extensions: Readonly<Record<string, unknown>> = {},
  ) {
    super(message)
    this.name = 'AshlarError'
    this.type = type
    this.errors = errors
    this.extensions = extensions
  }

  get kind(): ErrorKind {
    return errorCatalogue[this.type].kind
  }
}

/** What we promise ourselves does not hold; answered as `SystemError`. */
export class AssertionFailed extends Error {
  constructor(promise: string) {
    super(`assertion failed: ${promise}`)
  }
}

/** Throws AssertionFailed. */
export function assert(condition: unknown, promise: string): asserts condition {
  if (!condition) throw new AssertionFailed(promise)
}

/** For code that is never reached while we keep our own promises. Throws AssertionFailed. */
export function unreachable(promise: string): never {
  throw new AssertionFailed(promise)
}
