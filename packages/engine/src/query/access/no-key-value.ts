/** A marker for a value that no entry can have: the access is empty, or has no bound. */
export const noKeyValue: unique symbol = Symbol('no key value')
