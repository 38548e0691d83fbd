/** Words of a prompt that say nothing about which tool answers it. */
const FILLERS = new Set(
  (
    'a an the of in on at to for from by with as me my our us we i id im you your is are am be been being was were do does did ' +
    'has have had can could would will shall may might there this these those and or so just right please pls kindly ' +
    'some any also currently really actually maybe hi hey hello thanks thank know like want wanted tell give show see let ' +
    'lets if then than that it its they them he she one ones all every each both get got which what whats into out up ' +
    'exactly able such because about ever mind kind dear good'
  ).split(' '),
)

/** Words with one meaning for the assistant; the first of each line stands for all. */
const SYNONYMS: readonly string[] = [
  'compact compaction optimize optimise binpack defragment defrag',
  'expire expiry expiration vacuum',
  'manifest manifests',
  'merge combine rewrite',
  'table tables relation dataset',
  'lakehouse lake warehouse catalog',
  'column field attribute',
  'row record line entry tuple',
  'schema structure type layout',
  'health healthy score condition shape',
  'unhealthy sick neglected fragmented worst bad poor trouble problem issue',
  'care attention maintenance maintain cleaning tidy upkeep',
  'large big size space storage largest biggest huge bytes',
  'snapshot snapshots commit commits history',
  'pipeline stream streaming streams ingestion ingest',
  'lag lagging behind late delayed delay slow',
  'fail failed failing failure failures broken broke crashed error errors wrong unsuccessful',
  'definition definitions',
  'version versions revision',
  'compare diff difference differ versus vs',
  'environment environments stage stages',
  'approval approvals approve approved review reviews',
  'pending waiting wait waits open outstanding undecided',
  'operation operations job jobs activity log ledger',
  'happen happened happening occurred',
  'deploy deploys deployment deployments deployed deploying release rollout',
  'undeploy takedown',
  'rollback revert undo',
  'previous earlier before prior former',
  'stop halt terminate pause shutdown',
  'start launch begin',
  'add create append',
  'rename renaming',
  'drop remove delete erase destroy truncate purge wipe',
  'count number many',
  'sample example first few',
  'recent recently lately latest last newest',
  'write written wrote writes',
  'describe explain details detail hold holds contain contains inside content contents overview',
  'average avg mean median sum maximum minimum max min highest lowest top distinct unique per grouped group distribution percent',
  'orphan orphans orphaned',
  'promote demote retire withdraw',
  'reject decline refuse deny',
  'status state',
  'file files',
  'need needs require deserve worth',
  'plan preview simulate estimate dry dryrun',
  'clean cleanup',
  'help capable',
  'list enumerate',
]

/** Words that only this service uses in their sense; `start`, `count` and `write` are words of any subject. */
const TOPICS =
  'compact expire manifest table column row schema snapshot pipeline definition version environment approval operation ' +
  'deploy undeploy rollback health unhealthy care lakehouse orphan file lag'

const SUFFIXES = 'ations ation ments ment ions ings ion ing ied ies als ers al er ed es ly s e'.split(' ')
const MIN_STEM = 3

/** A word without its ending: `compacting` and `compaction` become `compact`. */
function stem(word: string): string {
  const suffix = SUFFIXES.find((end) => word.endsWith(end) && word.length - end.length >= MIN_STEM)
  const root = suffix === undefined ? word.replace(/(?<=..[^aeiou])y$/, '') : word.slice(0, -suffix.length)
  return root.length > MIN_STEM && root.at(-1) === root.at(-2) ? root.slice(0, -1) : root
}

const MEANINGS = new Map(
  SYNONYMS.flatMap((line) => {
    const words = line.split(' ')
    return words.map((word) => [stem(word), stem(words[0] ?? word)] as const)
  }),
)

/** The meaning of a lower-case word: its stem, or the stem of the word that stands for all its synonyms. */
export function meaningOf(word: string): string {
  const root = stem(word)
  return MEANINGS.get(root) ?? root
}

const TOPIC_MEANINGS = new Set(TOPICS.split(' ').map(meaningOf))

/** Whether a lower-case word is one that only this service uses in its sense. */
export function isTopic(word: string): boolean {
  return TOPIC_MEANINGS.has(meaningOf(word))
}

/** Whether a lower-case word says nothing about which tool answers a prompt. */
export function isFiller(word: string): boolean {
  return FILLERS.has(word)
}

/** Words that the assistant knows besides those of the examples. */
export const KNOWN_WORDS: readonly string[] = [...FILLERS, ...SYNONYMS.flatMap((line) => line.split(' '))]
