import { detectRuntime } from '../../../src/server/detect-runtime.ts'

/** The dialect that the state's SQLite file has on the runtime of these tests. */
export const { openStateFile } = await detectRuntime()
