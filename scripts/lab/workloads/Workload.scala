package org.apache.spark.sql.execution.streaming.state

import java.io.File
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path, Paths, StandardOpenOption}
import java.sql.Timestamp

import scala.collection.JavaConverters._
import scala.collection.mutable
import scala.util.Random

import org.apache.commons.io.FileUtils

import org.apache.spark.sql.{DataFrame, Encoders}
import org.apache.spark.sql.functions.{col, udf}
import org.apache.spark.sql.streaming.{StreamingQuery, Trigger}

/** One workload: run after run of its query until all ticks are over, then what Spark says its state holds. */
class Workload(spark: ThisSpark.Session, root: String, line: String) {
  private val chosen = Chosen(line)
  private val dir = Paths.get(root, chosen.name)
  private val checkpoint = dir.resolve("checkpoint").toString
  private val sources = Seq.fill(2)(ThisSpark.stream[Ev](spark)(Encoders.product[Ev]))
  private val files = chosen.is("files")
  private val feed = new Feed(chosen)
  private val random = new Random(chosen.seed + 99)
  private val after = chosen.int("after", 0)
  private var ticks = chosen.int("ticks", 14) + after
  private val batches = mutable.TreeMap[Long, String]()
  private val before = mutable.Map[String, Option[String]]()
  private var providers = Map[StateStoreId, StateStoreProvider]()
  private var now = feed.start
  private var tick = 0
  private var number = 0
  private val shift = chosen.long("shift", 0)
  private val emitted = mutable.Buffer[String]()
  private var emittedUntil = -1L

  private val calls = dir.resolve("calls")
  Files.createDirectories(calls)
  write("spec.txt", line + "\n")
  set(chosen)

  private def set(chosen: Chosen): Unit = Conf.of(chosen).foreach { case (key, value) =>
    before.getOrElseUpdate(key, spark.conf.getOption(key))
    spark.conf.set(key, value)
  }

  // A copy of a checkpoint goes on: with sources that have as many batches as its log, at the clock of its last one.
  if (after > 0) {
    tick = ticks - after
    number = chosen.int("fromRun", 0)
    now = chosen.long("clock", now)
    if (chosen.is("rewound")) { // at the tick of an earlier batch, by the rows that its sources had
      var added = 0L
      tick = 0
      while (added <= chosen.long("offset", -1) && tick < ticks) {
        if (feed.next(tick)._1.nonEmpty) added += 1
        tick += 1
      }
      ticks = tick + after
    } else (0 until tick).foreach(feed.next)
    for (_ <- 0L to chosen.long("offset", -1); source <- sources)
      source.addData(Seq(Ev(0, new Timestamp(Timeline.Base), 0)))
  }

  // That of the other workloads leaves the files of a batch that failed where they are when it runs again.
  if (chosen.get("failHow").nonEmpty) {
    val manager = "spark.sql.streaming.checkpointFileManagerClass"
    before(manager) = spark.conf.getOption(manager)
    spark.conf.unset(manager)
  }

  // For Python
  def hasNext: Boolean = tick < ticks
  def run: Int = number
  def timeout: String = chosen.timeout(number)
  def callLog: String = calls.toString
  def failInBatch: Long = if (number == 0 && chosen.text("failHow", "") == "function") chosen.long("failAt", -1) else -1
  def input: DataFrame = {
    val rows = queries.below(if (chosen.op == "pd") "none" else chosen.op.drop(3))
    rows.withColumn("s", udf(Keys.string _).apply(col("id"))).withColumn("l", udf(Keys.long _).apply(col("id")))
  }

  def retryInBatch: Long = chosen.long("retryAt", -1)
  def plan: Node = Node.parse(chosen.text("plan", "one"))

  /** A node of the plan that is not Python's; `inputs` may have nulls at the end. */
  def stage(node: Node, first: DataFrame, second: DataFrame): DataFrame =
    queries.stage(node, Seq(first, second).filter(_ != null), role(node.op))

  private def queries = new Queries(chosen.at(number), number, input(0), input(1), callLog)

  /** The rows of a source: those of memory, or files in a folder beside the checkpoint. */
  private def input(source: Int): DataFrame =
    if (!files) sources(source).toDF()
    else {
      Files.createDirectories(folder(source))
      spark.readStream.schema(Encoders.product[Ev].schema).parquet(folder(source).toString)
    }

  private def folder(source: Int): Path = dir.resolve(s"source$source")

  private def add(source: Int, rows: Seq[Ev]): Unit =
    if (!files) sources(source).addData(rows)
    else {
      val aside = dir.resolve("aside")
      spark.createDataset(rows)(Encoders.product[Ev]).coalesce(1).write.mode("overwrite").parquet(aside.toString)
      val file = aside.toFile.listFiles.find(_.getName.endsWith(".parquet")).get
      Files.createDirectories(folder(source))
      Files.move(file.toPath, folder(source).resolve(f"$tick%03d.parquet"))
    }

  def query(): DataFrame = queries.query(role)

  /** What the function does: from the second run on perhaps another thing. */
  def profile: String = chosen.get("then").filter(_ => number > 0).getOrElse(chosen.text("profile", "healthy"))

  private def role(op: Int): Role = Role(number, op, chosen.get(s"timeout$op").getOrElse(timeout),
    chosen.get(s"profile$op").getOrElse(profile), chosen.seed, chosen.long("patience", 3),
    chosen.get("fixed").map(_.toLong), chosen.tick, failInBatch, retryInBatch, chosen.int("huge", 0), chosen.int("big", 0),
    callLog, shift)

  /** One run of the query: to the next restart, to the end, or until it fails. */
  def drive(df: DataFrame): Unit = {
    StateStore.stop() // no provider of an earlier run is left
    chosen.repartitions.get(tick).filter(_ => batches.nonEmpty).foreach(repartition)
    val failing = number == 0 && chosen.text("failHow", "") == "sink"
    set(chosen.at(number))
    val spec = CaseSpec(chosen.name, chosen.at(number).text("mode", "append"), triggerMs = 1,
      failInBatch = if (failing) chosen.long("failAt", -1) else -1, twice = chosen.is("twice"),
      failTasksOf = chosen.long("failTasksOf", -1))
    val clock = new StepClock(now)
    feedSources()
    val trigger = chosen.get("trigger").map(word => if (word == "once") Trigger.Once() else Trigger.AvailableNow())
    val query = ThisSpark.start(spark, spec, checkpoint, clock, df, trigger.getOrElse(Trigger.ProcessingTime(1)))
    try if (trigger.nonEmpty) drain(query) else {
      step(query, clock)
      while (hasNext && query.isActive && !chosen.restarts(tick)) {
        feedSources()
        clock.advance(feed.advance())
        step(query, clock)
      }
    } finally query.stop()
    query.exception.foreach { e => if (failInBatch < 0 && !failing) throw e }
    // What the batch that failed has written may become a snapshot before it runs again.
    if (query.exception.nonEmpty && chosen.is("keepFailed"))
      ThisSpark.loadedProviders(checkpoint).values.foreach(_.doMaintenance())
    now = clock.getTimeMillis() + feed.advance() - chosen.long("back", 0)
    number += 1
  }

  /** A query that ends itself, after one batch or all that there is to do. */
  private def drain(query: StreamingQuery): Unit = {
    val executed = mutable.TreeMap[Long, Executed]()
    while (query.isActive) {
      Executed.last(query).foreach(batch => executed(batch.id) = batch)
      Thread.sleep(2)
    }
    executed.foreach { case (id, batch) => batches(id) = batch.json(number, new File(checkpoint, s"offsets/$id")) }
    providers = ThisSpark.loadedProviders(checkpoint)
  }

  /** A batch of Spark's own, in which no function runs and which moves no clock. */
  private def repartition(partitions: Int): Unit = {
    Stages.repartition(spark, checkpoint, partitions)
    val (last, line) = batches.last
    batches(last + 1) = line.replaceFirst("""b":\d+""", s"""b":${last + 1},"repartitioned":$partitions""")
    StateStore.stop()
  }

  private def feedSources(): Unit = {
    val (first, second) = feed.next(tick)
    if (first.nonEmpty) add(0, first)
    if (second.nonEmpty) add(1, second)
    tick += 1
  }

  private def step(query: StreamingQuery, clock: StepClock): Unit = {
    val deadline = System.nanoTime + 60L * 1000 * 1000 * 1000
    while (query.isActive && !clock.isWaitedFor) {
      require(System.nanoTime < deadline, "the query did not finish its tick in a minute")
      Thread.sleep(2)
    }
    if (query.isActive) {
      val last = Executed.last(query)
      last.foreach(batch => batches(batch.id) = batch.json(number, new File(checkpoint, s"offsets/${batch.id}")))
      providers = ThisSpark.loadedProviders(checkpoint)
      if (after > 0) ThisSpark.newRows(query, emittedUntil).foreach { case (batch, rows) =>
        emittedUntil = batch
        val texts = rows.map(row => row.toSeq.map(cell => Json.quote(String.valueOf(cell))).mkString("[", ",", "]"))
        emitted += s"""{"b":${batch - shift},"rows":[${texts.mkString(",")}]}"""
      }
      if (random.nextDouble() < chosen.real("maint", 0)) providers.values.foreach(_.doMaintenance())
    }
  }

  /** Writes what is known of all batches and the rows of the newest version; `problem` is empty if all went well. */
  def finish(problem: String): Unit = try {
    write("spec.txt", s"$line\n# ${if (problem.isEmpty) "ok" else problem}\n")
    write("batches.jsonl", batches.values.mkString("", "\n", "\n"))
    write("emitted.jsonl", emitted.mkString("", "\n", "\n"))
    val (logs, folders) = calls.toFile.listFiles.sortBy(_.getName).toSeq.partition(_.isFile)
    write("calls.jsonl", "")
    val all = dir.resolve("calls.jsonl")
    logs.foreach(log => Files.write(all, Files.readAllBytes(log.toPath), StandardOpenOption.APPEND))
    write("variables.jsonl", folders.flatMap(_.listFiles).sortBy(_.getName).flatMap(ofVariables).mkString)
    // Processes of Python may still have the logs open.
    if (!line.contains("pd") && !line.matches(".*tws[pr].*")) FileUtils.deleteDirectory(calls.toFile)
    if (problem.isEmpty && (after == 0 || chosen.is("upgraded"))) {
      val newest = Recorder.newestBatch(checkpoint, "commits") + 1
      write("store.jsonl", rows(newest).sorted.mkString("", "\n", "\n"))
    }
  } finally {
    StateStore.stop()
    before.foreach {
      case (key, Some(value)) => spark.conf.set(key, value)
      case (key, None) => spark.conf.unset(key)
    }
  }

  /** The calls of one processor in one run, with the run (`01-2`) and its operator. */
  private def ofVariables(folder: File): Seq[String] = {
    val Array(run, op) = folder.getName.split('-')
    folder.listFiles.sortBy(_.getName).toSeq.flatMap(file => Files.readAllLines(file.toPath).asScala)
      .map(call => s"""{"run":${run.toInt},"op":$op,${call.drop(1)}\n""")
  }

  /** A provider on RocksDB that loads a version may write into the checkpoint, which is put back. */
  private def rows(newest: Long): Seq[String] = {
    val tables = providers.collect { case (id, p: RocksDBStateStoreProvider) => id -> p }
    val there = new File(checkpoint)
    val kept = new File(checkpoint + ".kept")
    if (tables.nonEmpty) FileUtils.copyDirectory(there, kept)
    try providers.toSeq.flatMap {
      case (id, p: HDFSBackedStateStoreProvider) =>
        ThisSpark.hidden[java.util.TreeMap[_, _]](p, "loadedMaps").clear()
        rows(id, p, p.getStore(newest))
      case (id, p: RocksDBStateStoreProvider) if id.storeName == "default" && !hasFamilies(p) =>
        rows(id, p, ThisSpark.storeOf(p, newest, new RocksDBTruth(checkpoint, tables).uniqueId(id, newest)))
      case _ => Nil
    } finally if (tables.nonEmpty) {
      StateStore.stop()
      FileUtils.deleteDirectory(there)
      FileUtils.moveDirectory(kept, there)
    }
  }

  private def hasFamilies(provider: StateStoreProvider) =
    ThisSpark.member[Boolean](provider, "useColumnFamilies").getOrElse(false)

  private def rows(id: StateStoreId, provider: StateStoreProvider, store: StateStore): Seq[String] = {
    val value = ThisSpark.hidden[org.apache.spark.sql.types.StructType](provider, "valueSchema")
    val timed = value.lastOption.exists(_.name == "timeoutTimestamp")
    try store.iterator().map { pair =>
      val timer = if (timed) pair.value.getLong(value.size - 1) else -9L
      s"""{"op":${id.operatorId},"store":"${id.storeName}","p":${id.partitionId},"k":"${Json.hex(pair.key)}",""" +
        s""""t":$timer,"null0":${pair.value.isNullAt(0)}}"""
    }.toSeq finally store.abort()
  }

  private def write(name: String, text: String): Path = Files.write(dir.resolve(name), text.getBytes(UTF_8))
}

/** The settings of a workload. */
object Conf {
  private val Streaming = "spark.sql.streaming"
  private val Keys = Map(
    "parts" -> "spark.sql.shuffle.partitions",
    "codec" -> s"$Streaming.stateStore.compression.codec",
    "nodata" -> s"$Streaming.noDataMicroBatches.enabled",
    "minDeltas" -> s"$Streaming.stateStore.minDeltasForSnapshot",
    "retain" -> s"$Streaming.minBatchesToRetain",
    "fmt" -> s"$Streaming.flatMapGroupsWithState.stateFormatVersion",
    "aggFmt" -> s"$Streaming.aggregation.stateFormatVersion",
    "joinFmt" -> s"$Streaming.join.stateFormatVersion",
    "check" -> s"$Streaming.statefulOperator.checkCorrectness.enabled",
    "skipNulls" -> s"$Streaming.stateStore.skipNullsForStreamStreamJoins.enabled",
    "policy" -> s"$Streaming.multipleWatermarkPolicy",
    "rowsum" -> s"$Streaming.stateStore.rowChecksum.enabled",
    "cleanup" -> s"$Streaming.statefulOperator.incrementalCleanupFactor",
    "multiple" -> s"$Streaming.statefulOperator.allowMultiple",
    "changelog" -> s"$Streaming.stateStore.rocksdb.changelogCheckpointing.enabled",
    "counted" -> s"$Streaming.stateStore.rocksdb.trackTotalNumberOfRows",
    "ckFmt" -> s"$Streaming.stateStore.checkpointFormatVersion",
    "encoding" -> s"$Streaming.stateStore.encodingFormat",
    "blocks" -> s"$Streaming.stateStore.rocksdb.compression",
    "joinFormat" -> s"$Streaming.join.stateFormatVersion",
    "validated" -> s"$Streaming.stateStore.formatValidation.enabled",
    "merges" -> s"$Streaming.sessionWindow.merge.sessions.in.local.partition",
    "inMemory" -> s"$Streaming.maxBatchesToRetainInMemory",
    "adaptive" -> "spark.sql.adaptive.enabled")

  def of(chosen: Chosen): Map[String, String] = {
    val given = Keys.flatMap { case (word, key) => chosen.get(word).map(key -> _) }
    // Spark refuses to read back a timer of format 1: a long that it declares an integer.
    val unchecked = s"$Streaming.stateStore.formatValidation.enabled" -> "false"
    val tables = s"$Streaming.stateStore.providerClass" -> classOf[RocksDBStateStoreProvider].getName
    given ++ Seq(unchecked).filter(_ => chosen.get("fmt").contains("1")) ++ Seq(tables).filter(_ => chosen.is("rocks"))
  }
}

/** The programs of Scala workloads: `spark-submit ... Workloads OUT FILE`, one workload a line of the file. */
object Workloads {
  def main(args: Array[String]): Unit = {
    val spark = ThisSpark.session()
    spark.sparkContext.setLogLevel("OFF")
    val lines = Files.readAllLines(Paths.get(args(1))).toArray(Array[String]()).toSeq
    lines.foreach(line => one(spark, args(0), line))
    spark.stop()
  }

  private def one(spark: ThisSpark.Session, root: String, line: String): Unit = {
    val workload = new Workload(spark, root, line)
    var problem = ""
    try while (workload.hasNext) workload.drive(workload.query())
    catch { case e: Exception => problem = s"$e ${Option(e.getCause).getOrElse("")}".replace('\n', ' ').take(2000) }
    workload.finish(problem)
    println(s"### $line # ${if (problem.isEmpty) "ok" else problem}")
  }
}
