/** The client package's entry point. */

export type * from './change-types.ts'
export { AshlarClient, type Readiness } from './client.ts'
export type { DataClient } from './data-client.ts'
export { type ErrorType, errorTypes } from './error-types.ts'
export { AshlarConnectionError, AshlarRequestError, AshlarTimeoutError } from './errors.ts'
export { JsonText } from './json.ts'
export {
  type LiveDatabase,
  type LiveOptions,
  liveOf,
  type RowChange,
  type RowsStore,
  type Shown,
  type StoreOptions,
} from './live/live-database.ts'
export type { RowsSnapshot } from './live/shared-rows.ts'
export { type LiveEvent, type LiveRowEvent, LiveRows } from './live-query.ts'
export type * from './options.ts'
export { SecurityClient } from './security-client.ts'
export { connect } from './typed/connect.ts'
export type { Connection } from './typed/connection.ts'
export type * from './typed/database.ts'
export { databaseOf } from './typed/database-of.ts'
export { load } from './typed/load.ts'
export type * from './typed/schema-types.ts'
export type * from './wire.ts'
