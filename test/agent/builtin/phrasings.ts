/** A question as a person writes it, with the tool that answers it; `undefined`: no tool may be called. */
export interface Phrasing {
  readonly ask: string
  readonly tool: string | undefined
  /** Arguments that the call must have; a time is compared as its age in days. */
  readonly args?: Readonly<Record<string, unknown>>
}

/** Stand in phrasings for the ids of a test service. */
export type IdName = '<pipeline>' | '<definition>'

function phrasing(ask: string, tool?: string, args?: Readonly<Record<string, unknown>>): Phrasing {
  return { ask, tool, ...(args ? { args } : {}) }
}

const TRIPS = { table: 'demo.trips' }
const ORDERS = { table: 'demo.orders' }
const EVENTS = { table: 'demo.events' }

/** Phrasings with which the examples and the words of the assistant were tuned. */
export const TUNED: readonly Phrasing[] = [
  phrasing('what tables do we have', 'list_tables'),
  phrasing('I would like to see a list of every table in the catalog please', 'list_tables'),
  phrasing('columns of trips', 'get_schema', TRIPS),
  phrasing('What data types are used in the orders table?', 'get_schema', ORDERS),
  phrasing('is demo.events healthy', 'table_health', EVENTS),
  phrasing('give me the score for trips', 'table_health', TRIPS),
  phrasing('where should i start cleaning up', 'tables_needing_care'),
  phrasing('wich tables are in bad shape?', 'tables_needing_care'),
  phrasing('when was demo.orders written last?', 'list_snapshots', ORDERS),
  phrasing('commit history of trips pls', 'list_snapshots', TRIPS),
  phrasing('how many files would a compaction of demo.events rewrite', 'plan_compaction', EVENTS),
  phrasing('is it worth compacting trips?', 'plan_compaction', TRIPS),
  phrasing('dry run an expiry on demo.trips keeping 3 snapshots', 'plan_expiry', { ...TRIPS, retain_last: 3 }),
  phrasing('what pipelines are running right now', 'list_pipelines'),
  phrasing('are any of our streams delayed?', 'list_pipelines'),
  phrasing('is the pipeline that writes demo.orders_copy ok?', 'pipeline_status', { pipeline_id: '<pipeline>' }),
  phrasing('<pipeline> status', 'pipeline_status', { pipeline_id: '<pipeline>' }),
  phrasing('what definitions exist', 'list_definitions'),
  phrasing('show me everything that is in qa', 'list_definitions', { environment: 'qa' }),
  phrasing('which versions has daily_sales?', 'list_versions', { definition_id: '<definition>' }),
  phrasing('open version 2 of daily_sales', 'get_version', { definition_id: '<definition>' }),
  phrasing('what changed between v1 and v2 of daily_sales', 'diff_versions', { definition_id: '<definition>' }),
  phrasing('what environments are there?', 'list_environments'),
  phrasing('anything I have to approve?', 'pending_approvals'),
  phrasing('what is deployed in production', 'list_deployments', { environment: 'production' }),
  phrasing('what would happen if i deploy daily_sales to qa?', 'plan_deployment', {
    definition_id: '<definition>',
    environment: 'qa',
  }),
  phrasing('show the maintenance log of trips', 'list_operations', TRIPS),
  phrasing('did any job go wrong yesterday?', 'list_operations', { state: 'failed' }),
  phrasing('count rows in trips', 'query_table', TRIPS),
  phrasing('let me see a few records from demo.orders', 'query_table', ORDERS),
  phrasing('hey, please run compaction on demo.trips', 'compact', TRIPS),
  phrasing('optimize demo.events', 'compact', EVENTS),
  phrasing('merge the manifests of trips', 'rewrite_manifests', TRIPS),
  phrasing('clean up old snapshots of demo.trips, keep the last 2', 'expire_snapshots', { ...TRIPS, retain_last: 2 }),
  phrasing('expire demo.trips snapshots older than 3 days', 'expire_snapshots', { ...TRIPS, older_than: 3 }),
  phrasing('create a column discount double in demo.orders', 'add_column', {
    ...ORDERS,
    name: 'discount',
    type: 'double',
  }),
  phrasing('rename customer to client in demo.orders', 'rename_column', {
    ...ORDERS,
    name: 'customer',
    new_name: 'client',
  }),
  phrasing('remove the column tip from trips', 'drop_column', { ...TRIPS, name: 'tip' }),
  phrasing('stop the pipeline into demo.orders_copy', 'stop_pipeline', { pipeline_id: '<pipeline>' }),
  phrasing(
    'start streaming demo.orders into demo.orders_copy every 10 seconds, checkpoint checkpoints/two',
    'start_pipeline',
    {
      source_table: 'demo.orders',
      sink_table: 'demo.orders_copy',
      trigger_interval: '10 seconds',
      checkpoint_location: 'checkpoints/two',
    },
  ),
  phrasing('deploy daily_sales to qa', 'deploy_pipeline', { definition_id: '<definition>', environment: 'qa' }),
  phrasing('undeploy daily_sales in qa', 'undeploy_pipeline', { definition_id: '<definition>', environment: 'qa' }),
  phrasing('roll back the deployment of daily_sales in qa', 'rollback_deployment', {
    definition_id: '<definition>',
    environment: 'qa',
  }),
  phrasing('should I compact demo.events?', 'plan_compaction', EVENTS),
  phrasing("don't compact demo.events"),
  phrasing('delete the trips table'),
  phrasing('who won the world cup'),
  phrasing('tell me a joke about databases'),
  phrasing('what can I ask you?'),
  phrasing('approve everything that is pending'),
]

/** Phrasings that were written before the assistant and not looked at while it was tuned. */
export const HELD_OUT: readonly Phrasing[] = [
  phrasing('tables?', 'list_tables'),
  phrasing('Could you show which tables exist in this warehouse', 'list_tables'),
  phrasing('what fields does demo.trips have', 'get_schema', TRIPS),
  phrasing('Please explain me the structure from the table events', 'get_schema', EVENTS),
  phrasing('how is the health of demo.orders', 'table_health', ORDERS),
  phrasing('Why has demo.events such a low score?', 'table_health', EVENTS),
  phrasing('show me tables which need maintainance', 'tables_needing_care'),
  phrasing(
    'As the team lead I would like to know which of our tables are currently in the worst condition',
    'tables_needing_care',
  ),
  phrasing('list the snapshots from events', 'list_snapshots', EVENTS),
  phrasing('Show me the recent commits on demo.trips', 'list_snapshots', TRIPS),
  phrasing('preview compaction for trips', 'plan_compaction', TRIPS),
  phrasing('what would be the effect when I compact the table demo.events ?', 'plan_compaction', EVENTS),
  phrasing('how much space could we free by expiring snapshots of demo.trips?', 'plan_expiry', TRIPS),
  phrasing('pipelines status', 'list_pipelines'),
  phrasing('Is there a pipeline which has failed?', 'list_pipelines'),
  phrasing('how far behind is <pipeline>', 'pipeline_status', { pipeline_id: '<pipeline>' }),
  phrasing('tell me about pipeline <pipeline>', 'pipeline_status', { pipeline_id: '<pipeline>' }),
  phrasing('list all pipline definitions', 'list_definitions'),
  phrasing('which definitions have reached production', 'list_definitions', { environment: 'production' }),
  phrasing('show the versions of daily_sales', 'list_versions', { definition_id: '<definition>' }),
  phrasing('details of daily_sales v1', 'get_version', { definition_id: '<definition>' }),
  phrasing('compare version 1 with version 2 of daily_sales', 'diff_versions', { definition_id: '<definition>' }),
  phrasing('which environments do we have and how are they configured', 'list_environments'),
  phrasing('show open approval requests', 'pending_approvals'),
  phrasing('Which reviews are still pending?', 'pending_approvals'),
  phrasing('list deployments in qa', 'list_deployments', { environment: 'qa' }),
  phrasing('would deploying daily_sales to qa break something?', 'plan_deployment', {
    definition_id: '<definition>',
    environment: 'qa',
  }),
  phrasing('who changed demo.trips and what did they do', 'list_operations', TRIPS),
  phrasing('last maintenance operations', 'list_operations'),
  phrasing('For the audit I need to see all operations that have failed', 'list_operations', { state: 'failed' }),
  phrasing('number of records in demo.events?', 'query_table', EVENTS),
  phrasing('show me 5 sample rows of trips', 'query_table', TRIPS),
  phrasing('do a compaction for trips', 'compact', TRIPS),
  phrasing('Would you be so kind and compact the table demo.trips for me', 'compact', TRIPS),
  phrasing('compcat demo.trips', 'compact', TRIPS),
  phrasing('compact manifests of demo.trips', 'rewrite_manifests', TRIPS),
  phrasing('Can you expire the snapshots in demo.trips which are older than one week?', 'expire_snapshots', {
    ...TRIPS,
    older_than: 7,
  }),
  phrasing('please remove old snapshots from demo.trips but keep 3', 'expire_snapshots', { ...TRIPS, retain_last: 3 }),
  phrasing('add a string column called remark to demo.orders', 'add_column', {
    ...ORDERS,
    name: 'remark',
    type: 'string',
  }),
  phrasing('change the name of column total to amount in demo.orders', 'rename_column', {
    ...ORDERS,
    name: 'total',
    new_name: 'amount',
  }),
  phrasing('drop the customer column of demo.orders', 'drop_column', { ...ORDERS, name: 'customer' }),
  phrasing('halt <pipeline>', 'stop_pipeline', { pipeline_id: '<pipeline>' }),
  phrasing(
    'Please start a new pipeline from demo.orders to demo.orders_copy with checkpoint checkpoints/three every minute',
    'start_pipeline',
    {
      source_table: 'demo.orders',
      sink_table: 'demo.orders_copy',
      checkpoint_location: 'checkpoints/three',
    },
  ),
  phrasing('please deploy the newest version of daily_sales in qa', 'deploy_pipeline', {
    definition_id: '<definition>',
    environment: 'qa',
  }),
  phrasing('take daily_sales down in qa', 'undeploy_pipeline', { definition_id: '<definition>', environment: 'qa' }),
  phrasing('go back to the previous deployment of daily_sales in qa', 'rollback_deployment', {
    definition_id: '<definition>',
    environment: 'qa',
  }),
  phrasing('Does demo.events need compaction?', 'plan_compaction', EVENTS),
  phrasing('never expire snapshots of demo.events'),
  phrasing('drop table demo.orders'),
  phrasing('how is the weather in Berlin today'),
  phrasing('please write an email to my boss'),
  phrasing('what are you able to answer'),
  phrasing('reject the request of ed'),
  phrasing('how do I become rich'),
]
