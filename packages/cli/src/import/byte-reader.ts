/** Reads a stream of bytes by counts, such as headers and blocks of a file format. */

export interface ByteReader {
  /** Returns the next bytes without consuming them; undefined if fewer are left. */
  peek(count: number): Promise<Buffer | undefined>
  /** Returns and consumes the next bytes; undefined if fewer are left. */
  take(count: number): Promise<Buffer | undefined>
}

export function byteReader(source: AsyncIterable<Buffer>): ByteReader {
  const chunks = source[Symbol.asyncIterator]()
  let buffered: Buffer = Buffer.alloc(0)
  const peek = async (count: number): Promise<Buffer | undefined> => {
    const parts = [buffered]
    let { length } = buffered
    while (length < count) {
      const next = await chunks.next()
      if (next.done === true) break
      parts.push(next.value)
      length += next.value.length
    }
    if (parts.length > 1) buffered = Buffer.concat(parts)
    return length < count ? undefined : buffered.subarray(0, count)
  }
  const take = async (count: number): Promise<Buffer | undefined> => {
    const bytes = await peek(count)
    if (bytes !== undefined) buffered = buffered.subarray(count)
    return bytes
  }
  return { peek, take }
}
