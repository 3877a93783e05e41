/**
 * What Node gives by accessors of the global object: V8 calls these wherever it compiles a use of them, some forty times a request. In the program
 * they are variables instead.
 */
const { Buffer, performance, process } = globalThis

export { Buffer, performance, process }
