/** Thrown in a worker thread by operations that only the main thread supports. */
export const onlyInMainThread = new Error('The main thread does such work.')
