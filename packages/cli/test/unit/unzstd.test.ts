/** zstd as it is read where Node.js has no decoder: what its own program has written, what is damaged, and what was made to exhaust memory. */
import { expect, it } from 'vitest'
import { exitCodes } from '../../src/errors/exit-codes.ts'
import { unzstd } from '../../src/import/unzstd.ts'

/** `printf 'name,n\nA,1\nB,2\n' | zstd`. */
const short = Buffer.from('KLUv/QRYeQAAbmFtZSxuCkEsMQpCLDIKcx2AEA==', 'base64')
/** A header, and 20,000 lines `row <n % 50>,<n % 7>`: two blocks by `zstd -19`. */
const long = Buffer.from(
  'KLUv/QRoLA8AFulMFqAlhXToPN/+uarOInvvLaWs7PCLVitNAEMAQwBhNdpM1nHbi4VrepY73x+HopFyR2iVOpW27HqjgUXiUFiS4wyG1WgzWcdtLxau6VnufH8cimYwMpAOygE32INjEAQFBhAYKBgEEACgIHuxcE3Pcuf741A0Uu4IrVKn0pZdbzSwSBwKS3KcwbAabSbruO3FwjU9y53vj0PRSLkjtEqdSlt2vdHAInEoLMlxBgOd749D0Ui5I7RKnUpbdr3RwCJxKCzJcQbDarSZrOO2FwvX9Cx3vj8ORSPljtAqdSpt2fVGA4vEobAkxxkMq9Fmso5bMwitUqfSll1vNLBIHApLcpzBsBptJuu47cXCNT3Lne+PQ9FIuSO0Sp1KW3a90cAicSgsyXEGw2q0mazjthcL1/QsB4FeqBHA8No78VqobgYSiBDA3////9/v8ws0JSAwIVCQgHx63xyGd+S7z37+OViTggSqkAIF9Ml72wC8Yz779vMfwygLCIoKGShAn703veEd+e6zn38ezKQIgSqkQAF95r01AO+Yz779/McwqgIiokIGCtBn701veEe+99nPPwczqUCgClmggD55bw3AO+azbz//MYymgIKokIEC9Nm7m/N9713wM//0A7/5efoDoCpVAAAAAQCEr6l8XQMBpAce7Q==',
  'base64',
)
const longText = `name,n\n${Array.from({ length: 20_000 }, (_, n) => `row ${n % 50},${n % 7}\n`).join('')}`

/** As it comes from a disk or a network. */
async function* inChunks(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

async function textOf(bytes: Buffer, size = 65_536): Promise<string> {
  const parts: Buffer[] = []
  for await (const part of unzstd(inChunks(bytes, size), 'in.zst')) parts.push(part)
  return Buffer.concat(parts).toString()
}

it.each([1, 2, 7, 100, 65_536])('reads what zstd has written, by %i bytes', async (size) => {
  expect(await textOf(short, size)).toBe('name,n\nA,1\nB,2\n')
  expect(await textOf(long, size)).toBe(longText)
  const skippable = Buffer.concat([Buffer.from([0x5a, 0x2a, 0x4d, 0x18, 3, 0, 0, 0]), Buffer.from('abc')])
  expect(await textOf(Buffer.concat([short, skippable, long, skippable]), size)).toBe(`name,n\nA,1\nB,2\n${longText}`)
})

it('finds each byte that is another, and each end that is too early', async () => {
  for (const [bytes, text] of [
    [short, 'name,n\nA,1\nB,2\n'],
    [long, longText],
  ] as const) {
    const step = bytes === short ? 1 : 13
    for (let at = 0; at < bytes.length; at += step) {
      const changed = Buffer.from(bytes)
      changed[at] = (changed[at] as number) ^ 0x10
      // A bit without a meaning, and a window that is still large enough, make no difference; never is it another text.
      const told = await textOf(changed).catch((error: unknown) => error)
      if (told !== text || at > 5) expect([at, told]).toMatchObject([at, { exitCode: exitCodes.invalid }])
      if (at > 0) await expect(textOf(bytes.subarray(0, at))).rejects.toThrow('in.zst is damaged or cut off: ')
    }
  }
  await expect(textOf(Buffer.concat([short, Buffer.from('more')]))).rejects.toThrow(
    'what follows a frame of zstd is none',
  )
})

/** A frame with a window, and these blocks, without a checksum. */
const framed = (windowLog: number, ...blocks: readonly Buffer[]): Buffer =>
  Buffer.concat([Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0, (windowLog - 10) << 3]), ...blocks])

function repeated(byte: number, count: number, isLast: boolean): Buffer {
  const block = Buffer.alloc(4)
  block.writeUIntLE((count << 3) | (1 << 1) | Number(isLast), 0, 3)
  block[3] = byte
  return block
}

it('a small file that is much is read by and by', async () => {
  const blocks = Array.from({ length: 4_000 }, (_, n) => repeated(65, 131_072, n === 3_999))
  let bytes = 0
  let longest = 0
  const held: number[] = []
  for await (const part of unzstd(inChunks(framed(17, ...blocks), 65_536), 'in.zst')) {
    bytes += part.length
    longest = Math.max(longest, part.length)
    if (bytes % 2 ** 26 === 0) held.push(process.memoryUsage().arrayBuffers)
  }
  expect([bytes, longest]).toEqual([4_000 * 131_072, 131_072])
  // Half a gigabyte was read; what is not collected yet is a part of that.
  expect(Math.max(...held) - (held[0] ?? 0)).toBeLessThan(2 ** 28)
})

it.each([
  ['a window beyond 128 MiB', framed(28, repeated(0, 1, true)), 'with a window of 256 MiB, and up to 128 are read'],
  ['the largest window', framed(41, repeated(0, 1, true)), 'with a window of 2,097,152 MiB'],
  [
    'content of 2^62 bytes in a single segment',
    Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0xe0, 0, 0, 0, 0, 0, 0, 0, 0x40, 1, 0, 0]),
    'with a window of 4,398,046,511,104 MiB',
  ],
  ['a block that is too long', framed(20, repeated(0, 2 ** 21 - 1, true)), 'a block is longer than blocks may be'],
  ['a dictionary', Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 1, 0, 9, 1, 0, 0]), 'is compressed with a dictionary'],
  ['a block of no kind', framed(20, Buffer.from([0x07, 0, 0])), 'damaged or cut off'],
])('%s is refused', async (_what, bytes, told) => {
  await expect(textOf(bytes)).rejects.toMatchObject({
    exitCode: exitCodes.invalid,
    message: expect.stringContaining(told),
  })
})

it('a block of some bytes that asks for billions of copies ends', async () => {
  // 98,000 sequences of the longest match, whose codes take no bits.
  const body = Buffer.concat([Buffer.from([1 << 3, 65, 0xff, 0xff, 0xff, 0x54, 0, 0, 52]), Buffer.alloc(2_000, 0xff)])
  const head = Buffer.alloc(3)
  head.writeUIntLE((body.length << 3) | (2 << 1) | 1, 0, 3)
  const read = unzstd(inChunks(framed(17, head, body), 65_536), 'in.zst', 100)
  await expect(read.next()).rejects.toMatchObject({
    exitCode: exitCodes.invalid,
    message: expect.stringContaining('in.zst is damaged or cut off: '),
  })
})
