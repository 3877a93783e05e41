/** Gives back the memory of bytes that nobody uses any more at once: Node does not count it as pressure, and collects it long after. */

/** Of smaller ones it does not matter, and those of Node share a buffer with others. */
const detachedBytesMin = 65_536

/** Who still has them, or any other view of their buffer, finds that empty. */
export function detachBytes(...all: readonly (Uint8Array | Uint32Array)[]): void {
  for (const { buffer, byteLength } of all) {
    if (!(buffer instanceof ArrayBuffer) || byteLength < detachedBytesMin) continue
    // The clone is as short-lived as an object can be, and takes the memory with it.
    structuredClone(buffer, { transfer: [buffer] })
  }
}
