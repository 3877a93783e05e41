/** Frees the memory of unused buffers immediately: Node does not count it as memory pressure, and collects it late. */

/** Smaller buffers are not worth it, and may be slices of Node's shared pool. */
const detachedBytesMin = 65_536

/** Every other view of these buffers becomes empty. */
export function detachBytes(...all: readonly (Uint8Array | Uint32Array)[]): void {
  for (const { buffer, byteLength } of all) {
    if (!(buffer instanceof ArrayBuffer) || byteLength < detachedBytesMin) continue
    // The clone is garbage immediately, and the memory is freed with it.
    structuredClone(buffer, { transfer: [buffer] })
  }
}
