/** The error types of the server; with the types of the engine, they form the error catalogue of the interface. */
import { type ErrorKind, type ErrorType, errorCatalogue } from '@ashlar/engine'

interface ServerErrorEntry {
  readonly status: number
  readonly title: string
  readonly isRepeatable?: true
}

/** Stable names, which are never renamed or reused. */
export const serverErrors = {
  FederatedDatabaseRequired: { status: 400, title: 'The request names no federated database' },
  MalformedAlias: { status: 400, title: 'fdAlias is empty or specified twice' },
  UnknownParameter: { status: 400, title: 'The URL has a parameter that the operation does not know' },
  MalformedUrl: { status: 400, title: 'The URL is malformed' },
  Unauthenticated: { status: 401, title: 'Authentication is required' },
  ShutdownNotAllowed: { status: 403, title: 'The server was started without --allow-shutdown' },
  ForbiddenOrigin: { status: 403, title: 'Web pages of other origins may not use the server' },
  UserNotFound: { status: 404, title: 'There is no such user' },
  TokenNotFound: { status: 404, title: 'There is no such token' },
  RoleNotFound: { status: 404, title: 'There is no such role' },
  FederatedDatabaseNotFound: { status: 404, title: 'The federated database does not exist' },
  AuditLogNotConfigured: { status: 404, title: 'The server has no audit log' },
  WebhookNotFound: { status: 404, title: 'There is no such webhook' },
  DeadLetterNotFound: { status: 404, title: 'There is no such dead letter' },
  StatementNotFound: { status: 404, title: 'No such statement is running' },
  ResourceNotFound: { status: 404, title: 'The path does not exist' },
  MethodNotAllowed: { status: 405, title: 'The path does not support this method' },
  NotAcceptable: { status: 406, title: 'The operation cannot produce what Accept asks for' },
  RequestTimeout: { status: 408, title: 'The request did not arrive in time' },
  UserExists: { status: 409, title: 'The user already exists' },
  RoleExists: { status: 409, title: 'The role already exists' },
  RoleInUse: { status: 409, title: 'The role is still assigned to somebody' },
  LastAdministrator: { status: 409, title: 'No administrator would be left' },
  AuthenticationOff: { status: 409, title: 'The server was started without authentication' },
  DeliveryFailed: { status: 409, title: 'The webhook receiver did not accept the delivery' },
  InvalidUserName: { status: 422, title: 'The user name is not valid' },
  InvalidGrant: { status: 422, title: 'The roles cannot be assigned' },
  InvalidRole: { status: 422, title: 'The role is not valid' },
  InvalidToken: { status: 422, title: 'The token settings are not valid' },
  WeakPassword: { status: 422, title: 'The password is too short or too long' },
  TooManyRequests: { status: 429, title: 'The caller sends too many requests', isRepeatable: true },
  TooManySignIns: { status: 429, title: 'Too many wrong passwords', isRepeatable: true },
  BodyTooLarge: { status: 413, title: 'The body is too large' },
  ExpectationFailed: { status: 417, title: 'The server does not support the expectation in Expect' },
  UnknownHost: { status: 421, title: 'The server does not accept the host name in Host' },
  HeadersTooLarge: { status: 431, title: 'The headers of the request are too large' },
  IssuerUnavailable: {
    status: 503,
    title: 'The signing keys of the token issuer are not available',
    isRepeatable: true,
  },
  AuditLogUnavailable: { status: 503, title: 'The audit log cannot be written', isRepeatable: true },
  UnsupportedMediaType: { status: 415, title: 'The operation does not accept a body of this media type' },
} as const satisfies Record<string, ServerErrorEntry>

export type ServerErrorType = keyof typeof serverErrors
export type ProblemType = ErrorType | ServerErrorType

const statusOfKind: Record<ErrorKind, number> = {
  malformed: 400,
  forbidden: 403,
  notFound: 404,
  conflict: 409,
  gone: 410,
  precondition: 412,
  unprocessable: 422,
  tooMany: 429,
  unavailable: 503,
  outcomeUnknown: 503,
  fault: 500,
}

interface ProblemEntry {
  readonly status: number
  readonly title: string
  /** Nothing was done, and the request may be repeated: the reply has `Retry-After`. */
  readonly isRepeatable: boolean
}

/** Returns status and title of an error type. */
export function problemEntry(type: ProblemType): ProblemEntry {
  if (type in serverErrors) return { isRepeatable: false, ...serverErrors[type as ServerErrorType] }
  const { kind, title, ...more } = errorCatalogue[type as ErrorType]
  return { status: statusOfKind[kind], title, isRepeatable: 'isRepeatable' in more }
}

export const problemTypes = [...Object.keys(errorCatalogue), ...Object.keys(serverErrors)] as ProblemType[]

/** An error detected by the server, not the engine. */
export class ServerError extends Error {
  readonly type: ServerErrorType
  readonly headers: Readonly<Record<string, string>>

  constructor(type: ServerErrorType, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message)
    this.name = 'ServerError'
    this.type = type
    this.headers = headers
  }
}
