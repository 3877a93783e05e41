/** What is read of lmdb-js that it does not document behaves as `lmdb-internals.ts` expects. */
import { open } from 'lmdb'
import { expect, it, onTestFinished } from 'vitest'
import {
  Instruction,
  isWriting,
  keyBufferOf,
  pauseWriting,
  tryReadTransaction,
} from '../../src/store/lmdb/lmdb-internals.ts'
import type { Environment } from '../../src/store/lmdb/lmdb-js.ts'
import { temporaryDirectory } from './temporary-stores.ts'

const [key, other, value] = ['a', 'b', 'v'].map((text) => Buffer.from(text)) as [Buffer, Buffer, Buffer]

async function opened(): Promise<Environment> {
  const environment = open({
    path: `${await temporaryDirectory()}/data.mdb`,
    keyEncoding: 'binary',
    encoding: 'binary',
  })
  onTestFinished(() => environment.close())
  return environment as unknown as Environment
}

it('a read outside of a write transaction is not a write, and goes past one that pauses', async () => {
  const environment = await opened()
  expect(isWriting(environment)).toBe(false)
  await environment.childTransaction(async () => {
    environment.put(key, value)
    expect(isWriting(environment)).toBe(true)
    expect(environment.getBinaryFast(key)?.length).toBe(1)
    await pauseWriting(
      environment,
      Promise.resolve().then(() => {
        expect(isWriting(environment)).toBe(false)
        environment.resetReadTxn()
        expect(environment.getBinaryFast(key)).toBeUndefined()
      }),
    )
    expect(isWriting(environment)).toBe(true)
  })
  environment.resetReadTxn()
  expect(environment.getBinaryFast(key)?.length).toBe(1)
})

/** One that LMDB refuses is in `lmdb-damage.test.ts`: that takes a damaged file. */
it('an instruction that LMDB has followed is done', async () => {
  const environment = await opened()
  const instruction = new Instruction()
  await environment.childTransaction(async () => {
    expect(instruction.isLocated).toBe(false)
    instruction.find(environment, () => environment.put(key, value))
    expect([instruction.isLocated, instruction.isDone]).toEqual([true, true])
    environment.put(other, value)
    expect(instruction.isDone).toBe(true)
    environment.remove(other)
    expect(instruction.isDone).toBe(true)
  })
})

it('the key of a read is in the buffer of keys, and a new read transaction can be begun', async () => {
  const environment = await opened()
  environment.getBinaryFast(other)
  const buffer = keyBufferOf(environment)
  environment.getBinaryFast(other)
  expect(buffer[0]).toBe(other[0])
  expect(() => tryReadTransaction(environment)).not.toThrow()
})
