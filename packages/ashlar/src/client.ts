/** `ashlar/client`: the client alone, as in the package `@ashlar/client`. */
export * from '@ashlar/client'
