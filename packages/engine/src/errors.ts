/** The catalogue of error types: each word, its kind and its title, in one place. */

/** What went wrong, from the caller's side. The server maps kinds to HTTP statuses; the engine knows none. */
export type ErrorKind =
  | 'malformed'
  | 'forbidden'
  | 'notFound'
  | 'conflict'
  | 'gone'
  | 'precondition'
  | 'unprocessable'
  | 'tooMany'
  | 'unavailable'
  | 'outcomeUnknown'
  | 'fault'

interface ErrorEntry {
  readonly kind: ErrorKind
  readonly title: string
  /**
   * Nothing was done, and the same request may well succeed when it is sent again unchanged. The reply has `Retry-After`,
   * and clients may repeat the request by themselves: no error that may follow a commit has such a type (contract 1.4.13).
   */
  readonly isRepeatable?: true
}

/**
 * Error types are stable words: part of the interface, never renamed, never reused for something else.
 * A word stands for one kind, so that the status follows from the word alone.
 */
export const errorCatalogue = {
  // What the request says cannot be understood.
  MalformedRequest: { kind: 'malformed', title: 'The request cannot be understood' },
  MalformedValue: { kind: 'malformed', title: 'A value has the wrong type' },
  MalformedOid: { kind: 'malformed', title: 'The OID is malformed' },
  UnknownField: { kind: 'malformed', title: 'The body has a field that the operation does not know' },
  QuerySyntaxError: { kind: 'malformed', title: 'The query has a syntax error' },

  // What the URL addresses does not exist.
  ClassNotFound: { kind: 'notFound', title: 'The class does not exist' },
  NamespaceNotFound: { kind: 'notFound', title: 'The namespace does not exist' },
  ObjectNotFound: { kind: 'notFound', title: 'The object does not exist' },
  IndexNotFound: { kind: 'notFound', title: 'The index does not exist' },
  SequenceNotFound: { kind: 'notFound', title: 'The sequence does not exist' },

  // The request is understood, and whoever sends it may not do that.
  Forbidden: { kind: 'forbidden', title: 'The caller is not permitted to do this' },

  // The request conflicts with what is stored.
  UniqueViolation: { kind: 'conflict', title: 'A unique index already holds these key values' },
  ClassExists: { kind: 'conflict', title: 'The class already exists' },
  AttributeExists: { kind: 'conflict', title: 'The attribute already exists with another definition' },
  SuperClassMismatch: { kind: 'conflict', title: 'The class has another superclass' },
  AttributeInUse: { kind: 'conflict', title: 'The attribute is used by an index or a link' },
  ClassInUse: { kind: 'conflict', title: 'The class is still in use' },
  ValuesWouldBeLost: { kind: 'conflict', title: 'Stored values do not fit the changed attribute' },
  ObjectsViolateConstraint: { kind: 'conflict', title: 'Stored objects violate the constraint' },
  ClassIsEmbedded: { kind: 'conflict', title: 'The class is used as an embedded attribute type' },
  ClassIsReferenceable: { kind: 'conflict', title: 'A referenceable class cannot become embeddable' },
  IndexInUse: { kind: 'conflict', title: 'The index keeps an attribute unique' },
  IndexExists: { kind: 'conflict', title: 'The index already exists' },
  SequenceExists: { kind: 'conflict', title: 'The sequence already exists' },
  SequenceInUse: { kind: 'conflict', title: 'The sequence is named by a definition' },
  SequenceExhausted: { kind: 'conflict', title: 'The sequence has no more numbers' },
  DeleteRestricted: { kind: 'conflict', title: 'Objects that remain refer to what would be deleted' },

  // The request was sent before, with the same Idempotency-Key.
  RequestInProgress: { kind: 'conflict', title: 'The same request is still in progress', isRepeatable: true },
  ReplyNotKept: { kind: 'conflict', title: 'The request was already executed, and its reply was not kept' },

  // Somebody else ended what the request began.
  StatementStopped: { kind: 'conflict', title: 'The statement was stopped' },

  // What was changed is told from a position on.
  ChangeLogOff: { kind: 'conflict', title: 'The federated database has no change log' },
  ChangesGone: { kind: 'gone', title: 'The changes after this position are no longer kept' },

  // The request names a version that is not the present one.
  PreconditionFailed: { kind: 'precondition', title: 'The object does not meet the condition of the request' },

  // Understood, but not possible.
  UnknownClass: { kind: 'unprocessable', title: 'The body names a class that does not exist' },
  UnknownAttribute: { kind: 'unprocessable', title: 'The body names an attribute that does not exist' },
  AmbiguousAttribute: { kind: 'unprocessable', title: 'The attribute name is ambiguous' },
  InvalidName: { kind: 'unprocessable', title: 'The name is not allowed' },
  InvalidDefinition: { kind: 'unprocessable', title: 'The definition is not valid' },
  ClassIsInternal: { kind: 'unprocessable', title: 'The class is the root of all classes' },
  ClassNotReferenceable: { kind: 'unprocessable', title: 'The class is not referenceable' },
  AttributeNotIndexable: { kind: 'unprocessable', title: 'The attribute cannot be a key attribute' },
  ConstraintViolation: { kind: 'unprocessable', title: 'A value violates a constraint of its class' },
  ClassIsAbstract: { kind: 'unprocessable', title: 'The class is abstract: it has no objects of its own' },
  ValueNotAllowed: { kind: 'unprocessable', title: 'The attribute does not allow this value' },
  InvalidReference: { kind: 'unprocessable', title: 'The reference does not name a suitable object' },
  QueryError: { kind: 'unprocessable', title: 'The query cannot be executed' },
  IdempotencyKeyReused: { kind: 'unprocessable', title: 'The Idempotency-Key was used for another request' },
  LimitExceeded: { kind: 'unprocessable', title: 'A limit of the server is exceeded' },

  // The client has more under way than it may.
  TooManyFollowers: { kind: 'tooMany', title: 'The client has too many change streams open', isRepeatable: true },
  TooManyStatements: { kind: 'tooMany', title: 'The client has too many statements running', isRepeatable: true },

  // Nothing was done: try again.
  TransactionContention: { kind: 'unavailable', title: 'Too many concurrent changes', isRepeatable: true },
  StoreUnavailable: { kind: 'unavailable', title: 'The database cannot be reached', isRepeatable: true },
  ServerBusy: { kind: 'unavailable', title: 'The server is overloaded', isRepeatable: true },
  ShuttingDown: { kind: 'unavailable', title: 'The server is shutting down', isRepeatable: true },

  // Something was done, or may have been.
  OutcomeUnknown: { kind: 'outcomeUnknown', title: 'It is not known whether the change was made' },
  PartlyCommitted: { kind: 'outcomeUnknown', title: 'Only the first of several commits were made' },

  // Our own faults, and those of disks.
  DataCorruption: { kind: 'fault', title: 'Stored data is damaged' },
  SystemError: { kind: 'fault', title: 'The server failed' },
} as const satisfies Record<string, ErrorEntry>

export type ErrorType = keyof typeof errorCatalogue

/**
 * A place in a command, by the steps that lead there: a field, then for an attribute of an object its name as the command spells it, for
 * an element of a list its position, and so on. Whoever made the command knows what that is in the request: REST a JSON pointer, DO a piece
 * of the text.
 */
export type CommandPlace = readonly (string | number)[]

/** One fault in detail, and where it is. */
export interface ErrorDetail {
  readonly place: CommandPlace
  readonly message: string
  /** What else a reply says of the fault, such as the constraint that a value violates. */
  readonly fault?: Readonly<Record<string, unknown>>
}

/** A failure that is the client's to understand: never thrown for faults of the program. */
export class AshlarError extends Error {
  readonly type: ErrorType
  readonly errors: readonly ErrorDetail[]
  /** Waiting does not help, since somebody has to mend something first: then nobody is told to send the request again. */
  readonly isFatal: boolean
  /** What else the error tells beside its message, such as the line and column in a query; RFC 9457, section 3.2. */
  readonly extensions: Readonly<Record<string, unknown>>

  constructor(
    type: ErrorType,
    message: string,
    errors: readonly ErrorDetail[] = [],
    extensions: Readonly<Record<string, unknown>> = {},
    isFatal = false,
  ) {
    super(message)
    this.name = 'AshlarError'
    this.type = type
    this.errors = errors
    this.extensions = extensions
    this.isFatal = isFatal
  }

  /** The same of a command that is one of several: its places begin with the position among them, and there is one at least. */
  within(position: number): AshlarError {
    const { type, message, errors, extensions, isFatal } = this
    const details = errors.length === 0 ? [{ place: [], message }] : errors
    const placed = details.map((detail) => ({ ...detail, place: [position, ...detail.place] }))
    return new AshlarError(type, message, placed, extensions, isFatal)
  }

  get kind(): ErrorKind {
    return errorCatalogue[this.type].kind
  }

  /** Whether nothing was done and the same request may be sent again, were it not `isFatal`; see `errorCatalogue`. */
  get isRepeatable(): boolean {
    const entry: ErrorEntry = errorCatalogue[this.type]
    return entry.isRepeatable === true
  }
}

/** StoreUnavailable, until somebody has mended what the message tells. */
export function fatalFailure(message: string): AshlarError {
  return new AshlarError('StoreUnavailable', message, [], {}, true)
}

/**
 * The error for a commit that served only to prepare the actual change, such as the lease of a page: whether it was made or
 * not, nothing of the request was. Every other error is returned as it is.
 */
export function withoutEffect(error: unknown): unknown {
  if (!(error instanceof AshlarError) || error.type !== 'OutcomeUnknown') return error
  return new AshlarError('StoreUnavailable', `${error.message} It only prepared the change; nothing was changed.`)
}

/** Whether the store could not be reached, before a commit was sent or after. */
export function isOutOfReach(error: unknown): boolean {
  return error instanceof AshlarError && (error.type === 'StoreUnavailable' || error.type === 'OutcomeUnknown')
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
