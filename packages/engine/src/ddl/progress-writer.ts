/** Stores how far the change of a class in the background has come. */
import { catalogKey } from '../catalog/catalog-keys.ts'
import { encodeValidationProgress, type ValidationProgress } from '../catalog/validation-progress.ts'
import type { Store } from '../store/store.ts'
import { transact } from '../transaction/transact.ts'
import type { ClassNumber } from '../types/type-spec.ts'

/** While one state is being written, only the latest later state waits. */
export class ProgressWriter {
  private readonly store: Store
  private readonly attemptsMax: number
  private readonly key: Buffer
  private latest: ValidationProgress | undefined
  /** Of the parts of the change that are complete. */
  private objectsBefore = 0
  private writing: Promise<void> | undefined
  private failure: { readonly error: unknown } | undefined

  constructor(store: Store, attemptsMax: number, cls: ClassNumber) {
    this.store = store
    this.attemptsMax = attemptsMax
    this.key = catalogKey('validation', cls)
  }

  /** Counts the objects of the present part of the change. */
  note(objectsDone: number, objectsTotal: number): void {
    const { objectsBefore } = this
    this.latest = { objectsDone: objectsBefore + objectsDone, objectsTotal: objectsBefore + objectsTotal }
    this.writing ??= this.writeAll()
  }

  /** `objects`: that the completed part has read. Another part reads its objects again. */
  endPart(objects: number): void {
    this.note(objects, objects)
    this.objectsBefore += objects
  }

  /** Throws the first error of a commit. */
  async drain(): Promise<void> {
    await this.writing
    if (this.failure !== undefined) throw this.failure.error
  }

  private async writeAll(): Promise<void> {
    try {
      for (let next = this.latest; next !== undefined; next = this.latest) {
        this.latest = undefined
        await this.write(next)
      }
    } catch (error) {
      this.failure ??= { error }
    }
    this.writing = undefined
  }

  /** Writes nothing once another process has ended the change. */
  private async write(progress: ValidationProgress): Promise<void> {
    await transact(this.store, this.attemptsMax, async (transaction) => {
      const [stored] = await transaction.readAndRequire([this.key])
      if (stored !== undefined) transaction.put(this.key, encodeValidationProgress(progress))
    })
  }
}
