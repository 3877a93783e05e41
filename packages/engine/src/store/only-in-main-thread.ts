/** Thrown by work in a thread that only the main thread can do. */
export const onlyInMainThread = new Error('The main thread does such work.')
