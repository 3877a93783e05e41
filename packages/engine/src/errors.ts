/** The catalogue of error types: the name, kind and title of each. */

/** The category of an error from the caller's perspective. The server maps kinds to HTTP statuses; the engine knows none. */
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
   * Nothing was done, and the unchanged request may succeed if sent again. The reply has `Retry-After`, and clients may retry automatically: no
   * error that may follow a commit has such a type (contract 1.4.13).
   */
  readonly isRepeatable?: true
}

/** Error types are part of the interface: never renamed or reused with another meaning. Each has one kind, which determines the status. */
export const errorCatalogue = {
  MalformedRequest: { kind: 'malformed', title: 'The request cannot be understood' },
  MalformedValue: { kind: 'malformed', title: 'A value has the wrong type' },
  MalformedOid: { kind: 'malformed', title: 'The OID is malformed' },
  UnknownField: { kind: 'malformed', title: 'The body has a field that the operation does not know' },
  QuerySyntaxError: { kind: 'malformed', title: 'The query has a syntax error' },

  ClassNotFound: { kind: 'notFound', title: 'The class does not exist' },
  NamespaceNotFound: { kind: 'notFound', title: 'The namespace does not exist' },
  ObjectNotFound: { kind: 'notFound', title: 'The object does not exist' },
  IndexNotFound: { kind: 'notFound', title: 'The index does not exist' },
  SequenceNotFound: { kind: 'notFound', title: 'The sequence does not exist' },

  // The request is valid, but the caller lacks permission.
  Forbidden: { kind: 'forbidden', title: 'The caller is not permitted to do this' },

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

  // Another client ended the statement.
  StatementStopped: { kind: 'conflict', title: 'The statement was stopped' },

  // Errors of the change log and its positions.
  ChangeLogOff: { kind: 'conflict', title: 'The federated database has no change log' },
  ChangesGone: { kind: 'gone', title: 'The changes after this position are no longer kept' },

  // The request names a version that is not the current one.
  PreconditionFailed: { kind: 'precondition', title: 'The object does not meet the condition of the request' },

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

  // The client exceeds a concurrency limit.
  TooManyFollowers: { kind: 'tooMany', title: 'The client has too many change streams open', isRepeatable: true },
  TooManyStatements: { kind: 'tooMany', title: 'The client has too many statements running', isRepeatable: true },

  TransactionContention: { kind: 'unavailable', title: 'Too many concurrent changes', isRepeatable: true },
  StoreUnavailable: { kind: 'unavailable', title: 'The database cannot be reached', isRepeatable: true },
  ServerBusy: { kind: 'unavailable', title: 'The server is overloaded', isRepeatable: true },
  ShuttingDown: { kind: 'unavailable', title: 'The server is shutting down', isRepeatable: true },

  // The change may have been committed.
  OutcomeUnknown: { kind: 'outcomeUnknown', title: 'It is not known whether the change was made' },
  PartlyCommitted: { kind: 'outcomeUnknown', title: 'Only the first of several commits were made' },

  // Internal errors, and errors of disks.
  DataCorruption: { kind: 'fault', title: 'Stored data is damaged' },
  SystemError: { kind: 'fault', title: 'The server failed' },
} as const satisfies Record<string, ErrorEntry>

export type ErrorType = keyof typeof errorCatalogue

/**
 * A path within a command: a field, then for attributes the name as the command spells it, for lists the position, and so on. The author of the
 * command maps it to the request: REST to a JSON pointer, DO to a range of the text.
 */
export type CommandPlace = readonly (string | number)[]

export interface ErrorDetail {
  readonly place: CommandPlace
  readonly message: string
  /** Further members for the reply, such as the violated constraint. */
  readonly fault?: Readonly<Record<string, unknown>>
}

/** An error to report to the client: never thrown for internal faults. */
export class AshlarError extends Error {
  readonly type: ErrorType
  readonly errors: readonly ErrorDetail[]
  /** Waiting does not help, since an operator has to intervene: clients are not asked to retry. */
  readonly isFatal: boolean
  /** Extension members of the reply, such as line and column in a query; RFC 9457, section 3.2. */
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

  /** The error of one of several commands: prefixes its places with the position. The result has at least one place. */
  within(position: number): AshlarError {
    const { type, message, errors, extensions, isFatal } = this
    const details = errors.length === 0 ? [{ place: [], message }] : errors
    const placed = details.map((detail) => ({ ...detail, place: [position, ...detail.place] }))
    return new AshlarError(type, message, placed, extensions, isFatal)
  }

  get kind(): ErrorKind {
    return errorCatalogue[this.type].kind
  }

  /** Whether nothing was done and the request may be sent again, unless `isFatal`; see `errorCatalogue`. */
  get isRepeatable(): boolean {
    const entry: ErrorEntry = errorCatalogue[this.type]
    return entry.isRepeatable === true
  }
}

/** StoreUnavailable until an operator fixes the cause given in the message. */
export function fatalFailure(message: string): AshlarError {
  return new AshlarError('StoreUnavailable', message, [], {}, true)
}

/** Converts the error of a preparatory commit, such as a page lease: whatever its outcome, nothing of the request was done. Returns other errors. */
export function withoutEffect(error: unknown): unknown {
  if (!(error instanceof AshlarError) || error.type !== 'OutcomeUnknown') return error
  return new AshlarError('StoreUnavailable', `${error.message} It only prepared the change; nothing was changed.`)
}

/** Whether the store could not be reached, before a commit was sent or after. */
export function isOutOfReach(error: unknown): boolean {
  return error instanceof AshlarError && (error.type === 'StoreUnavailable' || error.type === 'OutcomeUnknown')
}

/** An internal invariant is violated; reported as `SystemError`. */
export class AssertionFailed extends Error {
  constructor(promise: string) {
    super(`assertion failed: ${promise}`)
  }
}

/** Throws AssertionFailed. */
export function assert(condition: unknown, promise: string): asserts condition {
  if (!condition) throw new AssertionFailed(promise)
}

/** Throws AssertionFailed. */
export function unreachable(promise: string): never {
  throw new AssertionFailed(promise)
}

const excerptCharactersMax = 60

/** Shortens a name sent by a client for messages. */
export function truncateForMessage(text: string): string {
  return text.length > excerptCharactersMax ? `${text.slice(0, excerptCharactersMax)}…` : text
}
