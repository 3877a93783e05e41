/** What calls in the same process share with those over HTTP, for the package `ashlar`. */
export { AshlarConnectionError, AshlarRequestError, AshlarTimeoutError } from './errors.ts'
export { parseExactly, reviveDates, stringifyBody } from './json.ts'
export { checkTimeout, untilAborted } from './transport.ts'
export { noReference, nullReferences } from './typed/rows-of.ts'
