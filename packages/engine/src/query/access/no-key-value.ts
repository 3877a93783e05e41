/** Stands for a value that no entry can have: the access then finds nothing, or has no bound. */
export const noKeyValue: unique symbol = Symbol('no key value')
