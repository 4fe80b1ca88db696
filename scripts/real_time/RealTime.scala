package org.apache.spark.sql.execution.streaming.state

import java.nio.file.{Files, Paths}
import java.sql.Timestamp
import java.time.Duration

import org.apache.spark.sql.{DataFrame, Encoders, ForeachWriter, Row}
import org.apache.spark.sql.execution.streaming.RealTimeTrigger
import org.apache.spark.sql.execution.streaming.sources.LowLatencyMemoryStream
import org.apache.spark.sql.functions.{count, window}
import org.apache.spark.sql.streaming._

case class Sent(user: String, ts: Timestamp)
case class Stay(visits: Long, lastMs: Long)

/** Queries in real-time mode, whose batches run for seconds: `spark-submit ... RealTime OUT CASE...`. */
object RealTime {
  private val BatchMs = 3000L
  private val RunMs = 16000L
  private val Users = 37

  def main(args: Array[String]): Unit = {
    val spark = ThisSpark.session()
    spark.sparkContext.setLogLevel("ERROR")
    try args.tail.foreach(name => run(spark, name, s"${args.head}/$name")) finally spark.stop()
  }

  private def run(spark: ThisSpark.Session, name: String, folder: String): Unit = {
    import spark.implicits._
    Files.createDirectories(Paths.get(folder))
    val (input, checkpoint) = (LowLatencyMemoryStream.singlePartition[Sent](spark), s"$folder/checkpoint")
    val timed = input.toDF().withWatermark("ts", "2 seconds")
    def by(processor: StatefulProcessor[String, Sent, (String, Long)]): DataFrame =
      input.toDF().as[Sent].groupByKey(_.user)
        .transformWithState(processor, TimeMode.ProcessingTime(), OutputMode.Update()).toDF()
    val result: DataFrame = name match {
      case "aggregation" => timed.groupBy(window($"ts", "1 second"), $"user").agg(count("*"))
      case "deduplication" => timed.dropDuplicates("user", "ts")
      case "timers" => by(new WithTimers)
      case "ttl" => by(new WithTtl)
    }
    val query = result.writeStream.outputMode("update").foreach(Nowhere).trigger(RealTimeTrigger(BatchMs))
      .option("checkpointLocation", checkpoint).start()
    val end = System.currentTimeMillis + RunMs
    for (i <- Iterator.from(0).takeWhile(_ => System.currentTimeMillis < end && query.isActive)) {
      val now = System.currentTimeMillis
      input.addData((0 until 4).map(j => Sent(s"user-${(4 * i + j) % Users}", new Timestamp(now - 100 * j))): _*)
      Thread.sleep(250)
    }
    query.exception.foreach(throw _)
    val providers = ThisSpark.loadedProviders(checkpoint).collect { case (id, p: RocksDBStateStoreProvider) => id -> p }
    query.stop()
    new RocksDBTruth(checkpoint, providers).writeTo(Paths.get(folder))
    println(s"### $name: ${query.recentProgress.length} batches")
  }
}

object Nowhere extends ForeachWriter[Row] {
  override def open(partition: Long, epoch: Long): Boolean = true
  override def process(row: Row): Unit = ()
  override def close(error: Throwable): Unit = ()
}

/** A key sets a timer when it is new; when that fires, half of the keys clear their state, the others keep it. */
class WithTimers extends StatefulProcessor[String, Sent, (String, Long)] {
  @transient private var visits: ValueState[Stay] = _

  override def init(mode: OutputMode, time: TimeMode): Unit =
    visits = getHandle.getValueState("visits", Encoders.product[Stay], TTLConfig.NONE)

  override def handleInputRows(key: String, rows: Iterator[Sent], timers: TimerValues): Iterator[(String, Long)] = {
    val (now, before) = (timers.getCurrentProcessingTimeInMs(), Option(visits.get()).fold(0L)(_.visits))
    visits.update(Stay(before + rows.size, now))
    if (before == 0) getHandle.registerTimer(now + 1200)
    Iterator((key, before))
  }

  override def handleExpiredTimer(key: String, timers: TimerValues, e: ExpiredTimerInfo): Iterator[(String, Long)] = {
    if (key.last % 2 == 0) visits.clear()
    Iterator((key, -1L))
  }
}

/** A value and a list whose entries expire while a batch runs. */
class WithTtl extends StatefulProcessor[String, Sent, (String, Long)] {
  @transient private var visits: ValueState[Stay] = _
  @transient private var list: ListState[Long] = _

  override def init(mode: OutputMode, time: TimeMode): Unit = {
    visits = getHandle.getValueState("visits", Encoders.product[Stay], TTLConfig(Duration.ofSeconds(3)))
    list = getHandle.getListState("list", Encoders.scalaLong, TTLConfig(Duration.ofSeconds(1)))
  }

  override def handleInputRows(key: String, rows: Iterator[Sent], timers: TimerValues): Iterator[(String, Long)] = {
    val before = Option(visits.get()).fold(0L)(_.visits)
    visits.update(Stay(before + rows.size, timers.getCurrentProcessingTimeInMs()))
    list.appendValue(before)
    Iterator((key, before))
  }
}
