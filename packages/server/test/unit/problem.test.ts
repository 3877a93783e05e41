/** Failures as clients see them (REST interface, section 1, Errors). */
import { describe, expect, it } from 'vitest'
import { defineGadget, openServer } from './open-server.ts'

describe('problems', () => {
  it('have type, title, status and message; and details where there are any', async () => {
    const { app } = await openServer()
    const reply = await app.inject('/v1/schema/Nothing')
    expect(reply.json()).toEqual({
      type: 'ClassNotFound',
      title: 'The class does not exist',
      status: 404,
      message: expect.stringContaining('Nothing'),
    })
    await defineGadget(app)
    const payload = { class: 'Shop.Gadget', attributes: { size: 'much' } }
    const detailed = await app.inject({ method: 'POST', url: '/v1/object', payload })
    expect(detailed.json().errors).toEqual([{ pointer: '/attributes/size', message: expect.any(String) }])
  })

  it('are application/problem+json where Accept names it', async () => {
    const { app } = await openServer()
    const read = (accept?: string) =>
      app.inject({ url: '/v1/schema/Nothing', headers: accept === undefined ? {} : { accept } })
    expect((await read('application/json, application/problem+json')).headers['content-type']).toMatch(
      /^application\/problem\+json/,
    )
    expect((await read('application/problem+json')).json().type).toBe('ClassNotFound')
    for (const accept of ['application/json', '*/*', undefined]) {
      expect((await read(accept)).headers['content-type']).toBe('application/json; charset=utf-8')
    }
  })

  it('of our own are a SystemError that tells an id and nothing more; the log tells the rest', async () => {
    const log: string[] = []
    const { app, federatedDatabases } = await openServer({ onLog: (line) => log.push(line) })
    const [fd] = federatedDatabases
    Object.assign(fd!, { listClassesJson: () => Promise.reject(new Error('secret /place of data')) })
    const reply = await app.inject('/v1/schema')
    expect(reply.json()).toMatchObject({ type: 'SystemError', status: 500 })
    expect(reply.body).not.toMatch(/secret|place|\.ts/)
    const id = /id ([0-9a-f-]{36})/.exec(reply.json().message)?.[1]
    const line = log.map((text) => JSON.parse(text)).find((entry) => entry.errorId === id)
    expect(line).toMatchObject({ level: 50, err: { message: 'secret /place of data', stack: expect.any(String) } })
  })
})
